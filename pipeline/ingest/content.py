"""What readers of a source ask of its content, whether it is in one file or in several."""

from typing import Protocol


class NamedSource(Protocol):
    """A file, or several."""

    @property
    def url(self) -> str:
        """How messages name it."""


class Content(Protocol):
    """What `pipeline.ingest.source.Stored` says of a file, and `pipeline.ingest.feed.contents.Contents` of several."""

    @property
    def source(self) -> NamedSource:
        """What is read."""

    @property
    def member(self) -> str:
        """The file of an archive that is read; empty if it is none."""

    @property
    def bytes(self) -> int:
        """Stored bytes that were read."""

    @property
    def size(self) -> int:
        """Stored bytes; if they are not known, those read so far."""

    @property
    def total(self) -> int | None:
        """Stored bytes; None if they are not known."""

    @property
    def digest(self) -> str:
        """BLAKE3 digest, once the content was checked."""

    def check(self, digest: str | None, sha256: str | None) -> None:
        """Raise BadInput unless the content is the identified one."""
