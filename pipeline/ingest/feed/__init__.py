"""A source of several files, a feed: a folder, a pattern, a prefix of an object store, or a list of these and of files.

patterns.py    patterns of paths
listing.py     the files that a pattern names
partitions.py  columns that the names of folders state, `day=2026-11-01`
forms.py       what the files must have in common
contents.py    bytes and digests of what was read
joining.py     the edges of all files in order, read in parallel
"""

import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from kernels.records import dataclass
from pipeline.config.model import url_of
from pipeline.errors import BadInput, Changed
from pipeline.ingest.feed.listing import ListedFile, Listing, list_here, list_there
from pipeline.ingest.feed.patterns import Pattern, has_magic
from pipeline.ingest.source import HERE, NOT_LISTED, Source, identify, is_of_web_site, is_url, locate, reading
from pipeline.redaction import redacted
from pipeline.store.digests import Digest, Unwritten, digests_of_files

SHOWN = 3  # ignored files that a message names


@dataclass(frozen=True)
class FeedPart:
    """A file of a feed."""

    source: Source
    size: int | None  # bytes as stored; None if they are not known before it is read
    state: str | None = None  # of a listed remote file: changes with its content


@dataclass(frozen=True)
class Feed:
    """A source of several files, in the order in which they are read: as listed, those of each entry by their names."""

    entries: tuple[str, ...]  # as the user wrote them; they may contain secrets
    parts: tuple[FeedPart, ...]
    ignored: tuple[str, ...]  # names of files that are hidden, unfinished or empty

    @property
    def url(self) -> str:
        """The source in messages, without secrets."""
        more = f" and {len(self.entries) - 1:,} more" if len(self.entries) > 1 else ""
        return redacted(self.entries[0]) + more

    @cached_property
    def locations(self) -> list[str]:
        """Where the entries are, however the user wrote them: absolute paths without links, or URLs."""
        return [_location(entry) for entry in self.entries]

    @property
    def location(self) -> str:
        """The first of these, and how many there are."""
        more = f" and {len(self.entries) - 1:,} more" if len(self.entries) > 1 else ""
        return self.locations[0] + more

    @property
    def name(self) -> str:
        """The last name in the first entry: that of its folder or pattern."""
        return redacted(self.entries[0]).rstrip("/").rpartition("/")[2]

    @cached_property
    def size(self) -> int | None:
        """Bytes of all files as stored; None if they are not known before all are read."""
        sizes = [part.size for part in self.parts]
        return None if None in sizes else sum(filter(None, sizes))

    @property
    def is_local(self) -> bool:
        """Whether all files are on this machine."""
        return all(part.source.local for part in self.parts)

    @cached_property
    def digests(self) -> list[str]:
        """A string for each file that changes with its content; of a file on this machine its BLAKE3 digest."""
        paths = [part.source.local for part in self.parts if part.source.local]
        here = dict(zip(paths, digests_of_files(paths), strict=True))
        return [
            here[part.source.local] if part.source.local else part.state or identify(part.source, None) for part in self.parts
        ]

    @property
    def digest(self) -> str:
        """A string that changes with the content, the names or the order of the files."""
        sizes = [part.size or 0 for part in self.parts]
        return merkle(zip((part.source.name for part in self.parts), sizes, self.digests, strict=True))

    @cached_property
    def unwritten(self) -> Unwritten:
        """Whether no file on this machine has been written since they were listed."""
        return _FeedUnwritten(self)

    def require_listed(self) -> None:
        """Raise Changed if files were added, removed or changed since they were listed."""
        try:
            listed = find(self.entries)
        except BadInput as error:
            raise Changed(error.file, f"changed while the source was read: {error.reason}") from None
        assert isinstance(listed, Feed)
        before, now = ({part.source.url: part.state for part in feed.parts} for feed in (self, listed))
        for url in before | now:
            if url not in before:
                raise Changed(url, "was added while the source was read")
            if url not in now:
                raise Changed(url, "was removed while the source was read")
            if before[url] != now[url]:
                raise Changed(url, "changed while it was read")

    def require_same(self) -> None:
        """Raise Changed unless the files on this machine have their digests; those that were not written are not read again."""
        here = zip(self.parts, self.digests, strict=True)
        written = {part.source.local: (part, digest) for part, digest in here if part.source.local and not part.source.unwritten}
        for (part, before), digest in zip(written.values(), digests_of_files([*written]), strict=True):
            if digest != before:
                raise Changed(part.source.url, "changed while it was read")


def merkle(files: Iterable[tuple[str, int, str]]) -> str:
    """The BLAKE3 digest of a feed: of the compact JSON `[[name, bytes, digest], ...]` of its files in order."""
    digest = Digest()
    digest.update(json.dumps([[*file] for file in files], separators=(",", ":"), allow_nan=False).encode())
    return digest.hexdigest()


class _FeedUnwritten(Unwritten):
    def __init__(self, feed: Feed) -> None:
        self._feed = feed

    def __bool__(self) -> bool:
        return all(part.source.unwritten for part in self._feed.parts if part.source.local)

    def require_listed(self) -> None:
        self._feed.require_listed()


def find(source: str | Sequence[str]) -> Source | Feed:
    """Find the file, or the files, that a configuration names as a source.

    Raises:
        BadInput: As `locate`; an entry names nothing that has content; a file is meant twice.
        OSError: The file system failed.
    """
    entries = (source,) if isinstance(source, str) else tuple(source)
    parts, ignored = list[FeedPart](), list[str]()
    for entry in entries:
        file, of_entry = expanded(entry)
        if file and isinstance(source, str):
            return file
        if not file and not of_entry.parts:
            some = of_entry.ignored
            why = f"; {len(some):,} are ignored: {', '.join(some[:SHOWN])}{', ...' if some[SHOWN:] else ''}" if some else ""
            raise BadInput(redacted(entry), f"has no file to read{why}")
        parts += [FeedPart(file, file.size)] if file else of_entry.parts
        ignored += of_entry.ignored
    _require_each_once(parts)
    return Feed(entries, tuple(parts), tuple(ignored))


def _require_each_once(parts: Sequence[FeedPart]) -> None:
    """Raise BadInput for a file that is meant twice, whose edges would be there twice."""
    seen = dict[str, str]()
    for part in parts:
        url = part.source.url
        if (other := seen.setdefault(part.source.location, url)) is not url:
            raise BadInput(url, f"is a file that the source names twice, also as {other}; name it once")


def files_here(entry: str) -> list[Source]:
    """The files on this machine that an entry of a source names; none if it is another URL, or if they cannot be listed."""
    if is_url(entry) and not _path_of_url(entry):
        return []
    with suppress(BadInput, OSError):
        source = find(entry)
        return [part.source for part in source.parts] if isinstance(source, Feed) else [source]
    return []


@dataclass
class Expanded:
    """The files of an entry."""

    parts: list[FeedPart]
    ignored: list[str]


def expanded(entry: str) -> tuple[Source | None, Expanded]:
    """The file that an entry names, or the files below a folder."""
    path = _path_of_url(entry) if is_url(entry) else entry
    if path is not None:
        if Path(path).is_file() or not (Path(path).is_dir() or has_magic(path)):
            return locate(entry), Expanded([], [])
        with reading(Source(entry, HERE, path)):
            pattern = _pattern_here(path)
            return None, _parts(list_here(pattern), pattern.root, "", HERE)
    source, (head, chain, rest) = locate(entry), entry.partition("::")
    with reading(source):
        magic = has_magic(head.partition("://")[2], url=True)
        if magic and is_of_web_site(entry):
            raise BadInput(source.url, f"is a pattern; {NOT_LISTED}")
        if not magic and not _is_folder(entry, source):
            return source, Expanded([], [])
        pattern = Pattern.of(source.path.rstrip("/"), url=True)
        listing = list_there(source.fs, pattern.root, pattern)
        return None, _parts(listing, Pattern.of(head.rstrip("/"), url=True).root, chain + rest, source.fs)


def _path_of_url(entry: str) -> str | None:
    """The path on this machine that a URL states; None for another URL."""
    if not (url_of(entry) or "").startswith("file:") or "::" in entry:
        return None
    import fsspec

    path: str = fsspec.core.url_to_fs(entry)[1]
    return path


def _pattern_here(path: str) -> Pattern:
    return Pattern(path.rstrip("/") or "/", ("**",)) if Path(path).is_dir() else Pattern.of(path)


def _is_folder(entry: str, source: Source) -> bool:
    """Whether a URL is that of a folder, or of what an object store shows as one; web sites have none."""
    if "http:" in entry or "https:" in entry:
        return False
    with suppress(Exception):  # who may read a file need not have the right to list others
        source.fs.invalidate_cache()
        return entry.endswith("/") or bool(source.fs.isdir(source.path))
    return False


def _parts(listing: Listing, root: str, chain: str, fs: object) -> Expanded:
    """The files of a listing; `root` and `chain` are what surrounds their names in their URLs."""

    def part(file: ListedFile) -> FeedPart:
        between = "" if not root or (root.endswith("/") and not root.endswith(":/")) else "/"
        url = f"{root}{between}{file.name}{chain}"
        path = file.path if file.state else str(Path(file.path).absolute())
        source = Source(redacted(url) if file.state else url, fs, path, file.name)
        _ = source.unwritten  # from now on
        return FeedPart(source, file.size, file.state)

    return Expanded([*map(part, listing.files)], listing.ignored)


def _location(entry: str) -> str:
    path = _path_of_url(entry) if is_url(entry) else entry
    if path is None:
        return redacted(entry)
    pattern = _pattern_here(path)
    names = () if Path(path).exists() else pattern.names
    return "/".join([os.path.realpath(pattern.root or "."), *names])
