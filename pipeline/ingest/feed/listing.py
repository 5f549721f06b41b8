"""The files below a folder of this machine or of an object store that a pattern names, in the order of their paths."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from kernels.records import dataclass
from pipeline.config.model import is_utf8
from pipeline.errors import BadInput
from pipeline.ingest.feed.patterns import Pattern
from pipeline.store.manifest import digest_of

MOST = 100_000  # files of a source
# What the file systems of fsspec say of a content; the first of these that is there changes with it.
_VALIDATORS = ("ETag", "etag", "generation", "md5Hash", "LastModified", "last_modified", "updated", "mtime", "created")


@dataclass(frozen=True)
class ListedFile:
    """A file below the root of a pattern."""

    name: str  # its path below the root, with slashes
    path: str  # for the file system
    size: int | None  # bytes as stored; None if the file system does not say
    state: str | None = None  # changes with the content of a remote file; None for one of this machine


@dataclass
class Listing:
    """The files that a pattern names, and the names of those that were left out: hidden, unfinished or without content."""

    files: list[ListedFile] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)

    def add(self, file: ListedFile) -> None:
        """Take a file, or leave it out if it is empty."""
        if file.size == 0:
            self.ignored.append(file.name)
        elif len(self.files) == MOST:
            raise BadInput(file.path, f"is one of more than {MOST:,} files, the limit for a source")
        else:
            self.files.append(file)

    def in_order(self) -> "Listing":
        """The same files in the order of the bytes of their names."""
        return Listing(sorted(self.files, key=lambda file: file.name.encode()), sorted(self.ignored))


def list_here(pattern: Pattern) -> Listing:
    """The files on this machine. Links are followed. Raises BadInput for what cannot be read, and OSError."""
    listing = Listing()
    for entry, name in _walk(Path(pattern.root or "."), pattern, "", ()):
        if entry is None:
            listing.ignored.append(name)
        elif pattern.matches(name):
            listing.add(ListedFile(name, entry.path, entry.stat().st_size))
    return listing.in_order()


def _walk(
    folder: Path, pattern: Pattern, above: str, around: tuple[tuple[int, int], ...]
) -> Iterator[tuple[os.DirEntry[str] | None, str]]:  # fmt: skip
    """The files below a folder with their names below the root; None for what is ignored. `around` are the folders above."""
    status = folder.stat()
    identity = status.st_dev, status.st_ino
    if identity in around:
        raise BadInput(folder, "is a link to a folder around it")
    level = len(around) + 1
    with os.scandir(folder) as entries:
        for entry in entries:
            name = above + entry.name
            if not is_utf8(entry.path):
                raise BadInput(f"{entry.path!a}", "its path is not UTF-8")
            if pattern.ignores(entry.name):
                if pattern.matches(name):
                    yield None, name
            elif entry.is_dir():
                if pattern.depth is None or level < pattern.depth or pattern.matches(name):
                    yield from _walk(Path(entry.path), pattern, f"{name}/", (*around, identity))
            elif entry.is_file():
                yield entry, name
            elif pattern.matches(name):
                reason = "is a link to a file that does not exist" if entry.is_symlink() else "is not a regular file"
                raise BadInput(entry.path, reason)


def list_there(fs: Any, root: str, pattern: Pattern) -> Listing:
    """The files on another file system, below `root`, which is the pattern's there. Raises what the file system raises."""
    fs.invalidate_cache()
    listing, seen = Listing(), set[str]()
    begin = root.rstrip("/") + "/" if root.rstrip("/") else root
    statuses: dict[str, Any] = fs.find(root, maxdepth=pattern.depth, withdirs=pattern.depth is not None, detail=True)
    for path in [path for path, status in statuses.items() if status["type"] == "directory"]:
        if pattern.matches(path.removeprefix(begin).strip("/")):
            statuses |= fs.find(path, detail=True)
    for path, status in statuses.items():
        name = path.removeprefix(begin).lstrip("/")
        if not name or name.endswith("/") or status["type"] != "file" or not pattern.matches(name):
            continue
        levels = name.split("/")
        if hidden := next((level for level, each in enumerate(levels, 1) if pattern.ignores(each)), 0):
            seen.add("/".join(levels[:hidden]))
        else:
            listing.add(ListedFile(name, path, status.get("size"), state_of(path, status)))
    listing.ignored.extend(seen)
    return listing.in_order()


def state_of(path: str, status: Mapping[str, Any]) -> str:
    """A digest of what a file system says of a remote file, which changes with the content."""
    known = next(([name, status[name]] for name in _VALIDATORS if status.get(name)), sorted(map(str, status.items())))
    return digest_of([path, status.get("size"), known])
