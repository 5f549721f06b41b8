"""A folder of a step, and its manifest, which lists the folder's files and inputs.

Every step writes a new folder next to its target and renames it into place as the last act, so a folder with a manifest is
complete. Only `make` writes one.
"""

import datetime as dt
import hashlib
import json
import logging
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from stat import S_ISREG
from types import MappingProxyType
from typing import Any, NamedTuple

from kernels.cpu.parallel import over_items
from kernels.records import dataclass
from kernels.spans import span
from pipeline.errors import BadConfig, Damaged
from pipeline.signals import undisturbed
from pipeline.store.code import Code
from pipeline.store.digests import digests_of_files
from pipeline.store.scratch import scratch

log = logging.getLogger(__name__)
FILE = "manifest.json"
BESIDE_PARQUET = "_manifest.json"  # in a folder of Parquet files, whose readers skip names that begin like this
FORMAT = 2
_LARGEST = 2**28  # bytes of a manifest


@dataclass(frozen=True)
class FileEntry:
    """Size in bytes and digest (`pipeline.store.digests`) of one file of a folder."""

    bytes: int
    blake3: str


@dataclass(frozen=True)
class Manifest:
    """The manifest of a folder."""

    step: str  # the step that wrote it: "edges", "graph", "bfs", ...
    key: str  # SHA-256 of step, inputs, parameters and the code that the step uses: equal keys mean equal content
    inputs: dict[str, str]  # name to digest of each folder or source file that it was made from
    parameters: dict[str, Any]  # what the step was asked for (JSON)
    facts: dict[str, Any]  # what the step found: counts, types, timings of its parts (JSON)
    files: dict[str, FileEntry]  # relative path to FileEntry, for every file but the manifest
    code: str  # version of the code that the step uses (`pipeline.store.code`)
    created: str  # UTC, ISO 8601
    seconds: float  # wall time of the step
    format: int = FORMAT


@dataclass(frozen=True)
class Folder:
    """A folder on disk with its manifest; what steps and tasks pass to each other. `reused`: this run did not write it."""

    path: Path
    manifest: Manifest
    reused: bool = False

    @property
    def facts(self) -> dict[str, Any]:
        """What the step found."""
        return self.manifest.facts

    @cached_property
    def validated(self) -> dict[type, Any]:
        """The same by the models that have read them (`pipeline.store.facts`)."""
        return {}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content: what a later step names as its input."""
        files = {name: entry.blake3 for name, entry in sorted(self.manifest.files.items())}
        return digest_of([self.manifest.key, files])


class WrittenStep(NamedTuple):
    """The facts of a step, and what is known of some of its files, by name."""

    facts: dict[str, Any]
    digests: dict[str, str]  # that files must have
    checked: Mapping[str, FileEntry] = MappingProxyType({})  # of files that are hard links to files which this run has checked


def unsealed(step: str, facts: Mapping[str, Any]) -> Manifest:
    """The manifest of a folder that is not complete: what is known of it are the facts."""
    return Manifest(step, "", {}, {}, dict(facts), {}, "", "", 0.0)


def digest_of(value: object) -> str:
    """SHA-256 of the canonical JSON of `value`."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":"), default=str).encode()).hexdigest()


def read(path: Path) -> Folder:
    """Open a folder by its manifest; the other files are not read. Raises Damaged if there is no complete manifest."""
    try:
        content = json.loads(_content(file_of(path)))
        if content["format"] != FORMAT:
            raise ValueError("another version of graphmill wrote it")
        if content.pop("seal") != digest_of(content):
            raise ValueError("its seal differs from its content")
        return Folder(path, Manifest(**content | {"files": {name: FileEntry(**of) for name, of in content["files"].items()}}))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise Damaged(f"{file_of(path)}: no readable manifest ({error})") from error


def find(folders: Iterable[Path], digest: str, *, checked: bool = True) -> Folder | None:
    """The first folder whose manifest has this digest; None if there is none.

    Its files are checked unless the caller does so later. Raises Damaged as `check`.
    """
    for path in folders:
        try:
            folder = read(path)
        except Damaged:
            continue
        if folder.digest == digest:
            if checked:
                check(folder)
            return folder
    return None


def file_of(folder: Path) -> Path:
    """The manifest of a folder, also of one that an earlier version wrote."""
    return hidden if os.path.lexists(hidden := folder / BESIDE_PARQUET) else folder / FILE


def _content(path: Path) -> bytes:
    """The bytes of a regular file that has no more than a manifest may have; never waits, and follows no link."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK)) as file:
        status = os.fstat(file.fileno())
        if not S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            raise ValueError(f"not a file of up to {_LARGEST} bytes")
        return file.read()


def check(folder: Folder, unread: str = "") -> None:
    """Compare every file with its manifest: names, sizes, digests unless the name matches `unread`. Raises Damaged."""
    path = folder.path
    try:
        names = set(_names(folder.path)) - {file_of(folder.path).name}
        for name in sorted(names ^ set(folder.manifest.files)):
            raise Damaged(f"{folder.path / name}: {'not in the manifest' if name in names else 'missing'}")
        for name, entry in folder.manifest.files.items():
            path = folder.path / name
            if not S_ISREG((status := path.lstat()).st_mode):
                raise Damaged(f"{path}: is not a file")
            if status.st_size != entry.bytes:
                raise Damaged(f"{path}: {status.st_size} bytes, the manifest says {entry.bytes}")
        read = {folder.path / name: entry for name, entry in folder.manifest.files.items() if not fnmatch(name, unread)}
        for (path, entry), digest in zip(read.items(), digests_of_files([*read]), strict=True):
            if digest != entry.blake3:
                raise Damaged(f"{path}: its BLAKE3 digest differs from the manifest's")
    except OSError as error:
        raise Damaged(f"{error.filename or path}: {error.strerror}") from None


def make(
    path: Path,
    step: str,
    inputs: Mapping[str, str] | Callable[[], Mapping[str, str]],
    parameters: Mapping[str, Any],
    write: Callable[[Path], dict[str, Any] | WrittenStep],
    code: Code | None = None,
) -> Folder:
    """Return the folder at `path`, written by `write` unless a valid one is there.

    Nothing is flushed to the disk: what a crash of the machine damages is found by its digests the next time, and made again.

    Args:
        path: The folder; replaced if it is not valid for this key.
        step, inputs, parameters: Together with `code` they make the key (see Manifest). A function that returns the inputs is
            called after `write` if nothing is at `path`.
        write: Writes files into the empty folder it is given and returns the facts, or `WrittenStep`. If it raises, or a signal
            ends the process, nothing is left behind, and the folder that was at `path` stays.
        code: What the step uses; None takes the module that defines `write`.

    Raises:
        Damaged: A file has not the digest that it must have.
    """
    version = (code or Code.of_step(step, write.__module__)).version()

    def keyed() -> tuple[dict[str, str], str]:
        given = dict(inputs() if callable(inputs) else inputs)
        return given, digest_of([FORMAT, step, given, dict(parameters), version])

    before = None if callable(inputs) and not path.exists() else keyed()
    if before and (valid := _valid(path, before[1])):
        log.info("%s: still valid, skipped", step)
        return valid
    _require_ours(path)
    started = time.perf_counter()
    with scratch(path.parent) as unfinished:
        (fresh := unfinished / "new").mkdir(0o700)
        with span(f"make {step}", "make"):
            written = write(fresh)
            facts, digests, checked = written if isinstance(written, WrittenStep) else WrittenStep(written, {})
            files = entries(fresh, checked)
        if wrong := next((name for name, digest in digests.items() if files[name].blake3 != digest), None):
            raise Damaged(f"{path / wrong}: differs from the array in memory")
        given, key = before or keyed()
        manifest = Manifest(
            step, key, given, dict(parameters), facts, files, version,
            dt.datetime.now(dt.UTC).isoformat(timespec="seconds"), round(time.perf_counter() - started, 6),
        )  # fmt: skip
        seal(fresh, vars(manifest))
        with undisturbed():
            _replace(path, fresh, unfinished / "old")
    log.info("%s: %.2f s", step, manifest.seconds)
    return Folder(path, manifest)


def entries(folder: Path, known: Mapping[str, FileEntry] = MappingProxyType({})) -> dict[str, FileEntry]:
    """Sizes and digests of all files below `folder`, by names in their order; those that are known are not read."""
    names = sorted(_names(folder))
    paths = {name: folder / name for name in names if name not in known}
    digests = dict(zip(paths, digests_of_files([*paths.values()]), strict=True))
    return {name: FileEntry(paths[name].stat().st_size, digests[name]) if name in paths else known[name] for name in names}


def seal(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write the manifest, sealed by its own SHA-256, as the last file of `folder`."""
    content = json.loads(json.dumps(manifest, allow_nan=False, default=vars))  # what reading gives: text keys, lists
    content["seal"] = digest_of(content)
    name = BESIDE_PARQUET if any(re.fullmatch(r"[^/]+\.parquet", file) for file in content["files"]) else FILE
    (folder / name).write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    folder.chmod(0o755)  # private until it is complete; readers may be other users


def flush_all(folder: Path) -> None:
    """Flush a folder and everything in it to the disk: the files, then the names."""
    over_items([folder / name for name in _names(folder)], flush, parallel=True)
    for inner in (*(path for path in folder.rglob("*") if path.is_dir()), folder):
        flush(inner)


def _valid(path: Path, key: str) -> Folder | None:
    if not path.exists():
        return None
    try:
        folder = read(path)
        if folder.manifest.key == key:
            with span(f"check {folder.manifest.step}", "read"):
                check(folder)
            return Folder(path, folder.manifest, reused=True)
    except Damaged as damage:
        log.warning("%s; the step runs again", damage)
    return None


def _require_ours(path: Path) -> None:
    """Refuse to replace anything that no step wrote. A folder with a manifest, also a damaged one, was written by a step."""
    free = not os.path.lexists(path) or (path.is_dir() and not any(path.iterdir()))
    if not free and not os.path.lexists(file_of(path)):
        raise BadConfig(f"{path}: was not written by a step and would be replaced; move it away")


def _replace(path: Path, fresh: Path, old: Path) -> None:
    try:
        if path.exists():
            path.replace(old)
        fresh.replace(path)
    except BaseException:
        if old.exists() and not path.exists():
            old.replace(path)
        raise


def _names(folder: Path) -> Iterator[str]:
    """Relative names of all that is not a folder; a link is not followed."""
    waiting = [""]
    while waiting:
        above = waiting.pop()
        for entry in os.scandir(folder / above):
            if entry.is_dir(follow_symlinks=False):
                waiting.append(f"{above}{entry.name}/")
            else:
                yield above + entry.name


def flush(path: Path) -> None:
    """Flush a file, or a folder's list of names, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
