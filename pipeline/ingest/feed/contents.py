"""What was read of the files of a feed, counted while threads read them."""

from threading import Lock

from pipeline.config.graph import RATIO_FROM, Limits
from pipeline.errors import BadInput, Changed
from pipeline.ingest.content import Content
from pipeline.ingest.feed import Feed, merkle
from pipeline.store.facts.sources import FileFacts, FilesFacts


class Contents:
    """The stored bytes of a feed, as `pipeline.ingest.source.Stored` has those of a file.

    Attributes:
        bytes: Bytes of the files read so far.
        content: Decompressed bytes of the files that were finished; of Parquet the bytes of their rows.
        edges: Of each file, by its number.
        partly: Columns that are in some files only, each with the first file that lacks it.
    """

    sha256, member = None, ""  # of one file only

    def __init__(self, feed: Feed) -> None:
        self.source, self.bytes, self.content, self.edges = feed, 0, 0, [0] * len(feed.parts)
        self.partly = dict[str, str]()
        self._finished, self._expanded = 0, dict[int, int]()  # stored bytes of these; decompressed ones of the others
        self._lock, self._read, self._open = Lock(), dict[int, tuple[int, str]](), list[tuple[int, Content]]()
        self._members = dict[int, str]()

    @property
    def total(self) -> int | None:
        """Bytes of all files; None if they are not known before."""
        return self.source.size

    @property
    def size(self) -> int:
        """Bytes of all files; if they are not known before, those read so far."""
        return max(self.bytes, self.source.size or 0)

    @property
    def digest(self) -> str:
        """The digest of the feed, by those of the bytes of its files, once they were checked."""
        names = (part.source.name for part in self.source.parts)
        return merkle((name, *self._read[number]) for number, name in enumerate(names))

    @property
    def files(self) -> FilesFacts:
        """The files, once they were checked."""
        listed = [
            FileFacts(name=part.source.name, path=part.source.location, bytes=self._read[number][0], blake3=self._read[number][1],
                      edges=self.edges[number], member=self._members.get(number))
            for number, part in enumerate(self.source.parts)
        ]  # fmt: skip
        return FilesFacts(count=len(listed), ignored=len(self.source.ignored), partly=self.partly, listed=listed)

    def check_at_end(self, number: int, stored: Content) -> None:
        """Count a file when all are checked, and not before."""
        self._open.append((number, stored))

    def add(self, number: int, stored: Content) -> None:
        """Count a file that was read; of a remote one the rest is read, and all is digested."""
        if self.source.parts[number].source.local:
            size, digest = stored.size, self.source.digests[number]  # which is compared when that of all is
        else:
            stored.check(None, None)
            size, digest = stored.bytes, stored.digest
        with self._lock:
            self._read[number] = size, digest
            if stored.member:
                self._members[number] = stored.member
            self.bytes += size

    def expand(self, number: int, content: int) -> None:
        """Count decompressed bytes of a file, which one thread reads."""
        self._expanded[number] = self._expanded.get(number, 0) + content

    def finish(self, number: int, limits: Limits) -> None:
        """Raise BadInput if the files up to this one have more content than the limits allow; called in their order."""
        url = self.source.parts[number].source.url
        self.content += self._expanded.pop(number, 0)
        self._finished += self._read[number][0]
        if self.content > limits.bytes:
            raise BadInput(url, f"brings the source to over {limits.bytes} bytes of content, the limit (graph.limits.bytes)")
        if self.content > RATIO_FROM and self.content > limits.ratio * self._finished:
            more = f"{self._finished} bytes decompress to {self.content}, more than {limits.ratio:g} times"
            raise BadInput(url, f"with the files before it, {more}, the limit (graph.limits.ratio)")

    def check(self, digest: str | None, _: str | None) -> None:
        """Raise Changed unless all files were read, have the identified contents, and are still those of the source."""
        for number, stored in self._open:
            self.add(number, stored)
        self._open.clear()
        self.source.require_listed()
        self.source.require_same()
        if digest not in (None, self.digest):
            raise Changed(self.source.url, "changed while it was read")
