"""Which format a file has: its content decides, and its name only if the content does not."""

import codecs
import io
import re
from collections.abc import Iterator
from itertools import islice

from pipeline.config.graph import GraphConfig
from pipeline.errors import BadInput
from pipeline.ingest.formats import FORMATS
from pipeline.ingest.formats.format import FileFormat, Head, TextFormat
from pipeline.ingest.formats.parquet import begins_parquet
from pipeline.ingest.source import NOT_LISTED
from pipeline.texts import shown

_ARC = re.compile(rb"a(\s+\d+){2}\s+\S+")
_COORDINATES = re.compile(rb"p\s+aux\s+sp\s+co\b")
_WEB_PAGE = re.compile(rb"<!doctype html|<html", re.IGNORECASE)
_COMMENT = re.compile(rb"c(\s|$)")
# Suffixes of files that look like SNAP, but have a header of sizes, and what to say about a file that has nothing else to go by.
_FOREIGN = {
    "mtx": 'lacks the first line "%%MatrixMarket matrix coordinate VALUES SYMMETRY" of a Matrix Market file; add it, or, if the '
    'file has only "SRC DST" lines, state format = "snap" (--format snap)',
}
_COMPRESSED = re.compile(r"\.(gz|bz2|xz|zst)$")


class OfAnotherForm(BadInput):
    """A file has the name of a format that is not read, or of one that it does not have."""


def detect(head: bytes, file: str, graph: GraphConfig) -> str:
    """Return the name of the format of a file that starts with `head`. Raises BadInput if no format matches."""
    if format_name := binary_format(head):
        return format_name
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise BadInput(file, 'is UTF-16; state encoding = "utf-16" (graph.encoding)')
    if b"\0" in head:
        begins_parquet(head, file)  # says so if it is encrypted
        raise BadInput(file, f"is a binary file, not a graph; {_known()}")
    lines = [line for _, line in islice(_filled(head), 3)]
    number, first = next(((number, line) for number, line in _filled(head) if not _COMMENT.match(line)), (1, b""))
    if _ARC.fullmatch(first):
        raise BadInput(file, 'arcs without a header "p sp VERTICES ARCS"; format = "arcs" reads them', number)
    if _COORDINATES.match(first):
        raise BadInput(file, "holds coordinates; name such a file in graph.coordinates", number)
    if graph.delimiter:
        return "csv"
    headerless = None if graph.header else by_name(file) or _by_option(first, graph)
    format_name = headerless or _by_content(Head(lines, first, graph.columns))
    if format_name in ("snap", "konect") and by_name(file) == "metis" and not first.startswith(b"#"):
        format_name = "metis"  # two integers are its header; `%` begins its comments, too
    if (reason := _FOREIGN.get(_suffix(file))) and format_name in (None, "snap", "konect") and not first.startswith(b"#"):
        raise OfAnotherForm(file, reason, number)
    if format_name := format_name or by_name(file) or _by_option(first, graph):
        return format_name
    if _WEB_PAGE.match(first):
        raise BadInput(file, f"is a web page, not a graph; {NOT_LISTED}", number)
    raise BadInput(file, f"{shown(first)} is not the beginning of a known format; {_known()}", number)


def binary_format(head: bytes) -> str | None:
    """The name of the binary format of a file that starts with `head`; None if it has none."""
    matching = (name for name, entry in FORMATS.items() if isinstance(entry, FileFormat) and entry.matches(head))
    return next(matching, None)


def _filled(head: bytes) -> Iterator[tuple[int, bytes]]:
    """The numbers of the lines that are not blank, from 1, and the lines, stripped."""
    return ((number, filled) for number, line in enumerate(io.BytesIO(head), 1) if (filled := line.strip()))


def _by_content(head: Head) -> str | None:
    texts = ((name, entry.matches) for name, entry in FORMATS.items() if isinstance(entry, TextFormat))
    return next((name for name, matches in texts if matches and matches(head)), None)


def by_name(file: str) -> str | None:
    """The name of the format to which a file's suffix belongs; None if there is none."""
    suffix = _suffix(file)
    return next((name for name, entry in FORMATS.items() if suffix in entry.suffixes), None)


def _suffix(file: str) -> str:
    """The suffix of a file's name, or its whole name, without that of a compression."""
    return _COMPRESSED.sub("", file.lower().rpartition("/")[2]).rpartition(".")[2]


def _by_option(first: bytes, graph: GraphConfig) -> str | None:
    """Whether a file whose columns are configured has columns, even if they are others."""
    configured = not graph.header or graph.columns.src or graph.columns.dst or graph.columns.weight
    return next((name for name, mark in (("tsv", b"\t"), ("csv", b",")) if configured and mark in first), None)


def _known() -> str:
    return f"the formats are {', '.join(FORMATS)}"
