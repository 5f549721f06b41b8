"""Texts in other encodings than UTF-8, decoded in front of the parser; lines keep their numbers."""

import codecs
from collections.abc import Iterator

from pipeline.errors import BadInput
from pipeline.texts import shown


def as_utf8(file: str, chunks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    """The same text in UTF-8, chunk by chunk.

    Raises BadInput for bytes that are no text in this encoding, with the line where they are.
    """
    decoder, lines = codecs.getincrementaldecoder(encoding)(), 0

    def decoded(chunk: bytes, final: bool) -> bytes:
        try:
            return decoder.decode(chunk, final).encode()
        except UnicodeDecodeError as error:
            codec = error.encoding if error.encoding.startswith("utf") else encoding  # of UTF-16 the one that its mark states
            before = error.object[: error.start].decode(codec, "replace").count("\n")
            wrong = f"bytes {shown(error.object[error.start : error.end])} are not {encoding} ({error.reason})"
            raise BadInput(file, f"{wrong}; graph.encoding states the encoding", lines + before + 1) from None
        except UnicodeError as error:  # UTF-16 without its mark, or half of a pair of codes
            raise BadInput(file, f"is not {encoding} ({error}); graph.encoding states the encoding", lines + 1) from None

    for chunk in chunks:
        text = decoded(chunk, False)
        lines += text.count(b"\n")
        if text:
            yield text
    if rest := decoded(b"", True):
        yield rest


def beginning(chunk: bytes, encoding: str | None) -> bytes:
    """The first bytes of a text, in UTF-8 unless no encoding is stated; without an incomplete letter at the end."""
    return codecs.getincrementaldecoder(encoding)("replace").decode(chunk).encode() if encoding else chunk
