"""Files of changes that arrive in a folder: applied in the order of their names, each completely and once.

What was applied is known from the published state alone: the names and digests of all files since the source was read.
"""

import logging
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import fsspec
from fsspec.implementations.local import LocalFileSystem

from pipeline.changes import Backlog, change
from pipeline.changes.state import newest
from pipeline.config.model import is_utf8, url_of
from pipeline.config.run import RunConfig
from pipeline.errors import AlreadyApplied, BadConfig, BadInput, Refused, Stopped
from pipeline.ingest.feed import expanded
from pipeline.ingest.feed.patterns import has_magic
from pipeline.ingest.source import NOT_LISTED, Source, identify, is_of_web_site, locate, reading
from pipeline.progress.shown import Call, Shown, Steps
from pipeline.run import run
from pipeline.steps.publication.remote import is_uploaded, upload, uploaded_history
from pipeline.steps.publication.target import LATEST
from pipeline.store.deltas.history import Applied, history_of
from pipeline.store.digests import Remembered
from pipeline.store.manifest import Folder
from pipeline.store.workspace import workspace

log = logging.getLogger(__name__)
UNFINISHED = (".part", ".tmp")  # endings of the names of files that are still being written; others begin with a dot
# Keys of the configuration that may be others than those of the first run: they do not change what the tables are.
_OPTIONS = ("oracle", "backend", "publish_to", "expect", "changes", "keep", "cluster")
_ADVICE = "; repair it or move it away, then start again"
Where = str | tuple[str, ...]  # a folder, a pattern, a file, or several of these


def apply_arrivals(config: RunConfig, call: Call | None, execute: Callable[[Callable[[], Folder]], Folder]) -> Folder:
    """Apply all files of changes that have arrived, or arrive in the meantime, and publish a run for each or for the last.

    Args:
        config: The graph's run. If its output folder has no run yet, the source is read first.
        call: As `pipeline.run.run`; it also calls the step `arrivals`, which looks into the folder.
        execute: Is given each run as a function.

    Returns:
        The newest run, which is an earlier one if no file has arrived.

    Raises:
        Stopped: A file cannot be applied. Those before it are; those behind it wait. Or the object storage has a run of changed
            edges that this machine neither has nor can make again.
        BadConfig: No folder is named, or there is none.
        GraphmillError: As `pipeline.changes.change`.
    """
    folder, link = config.changes.arrivals, config.publish_as or LATEST
    if folder is None:
        raise BadConfig("changes.arrivals is missing: the folder in which files of changes arrive")
    arrived(folder)
    steps = Steps(Shown(), call=call)
    remembered = config.output / "steps" / "arrivals.json"
    if (config.output / link).is_symlink():
        published = newest(config.output, link).run
        if config.publish_to and not steps("destination", is_uploaded, published, config.publish_to):
            published = execute(partial(_uploaded, published, config, steps))
    else:
        if config.publish_to:
            steps("destination", _require_applied_files, config.publish_to, link, folder, remembered)
        published = execute(partial(run, config, call))
    options = {key: getattr(config, key) for key in _OPTIONS}

    def apply(files: Sequence[Source], done: list[str]) -> Folder:
        return execute(partial(change, config.output, Backlog(files, done), call=call, publish_as=link, **options))

    while True:
        waiting: list[Source] = steps("arrivals", arrivals, folder, history_of(published), remembered)
        if not waiting:
            log.info("arrivals: all files in %s have been applied; %s names %s", _shown(folder), link, published.path.name)
            return published
        log.info("arrivals: applying %s, the first of %d waiting", waiting[0].url, len(waiting))
        files, done = waiting if config.changes.publish == "last" else waiting[:1], list[str]()
        try:
            published = apply(files, done)
        except (BadInput, AlreadyApplied, Refused) as error:
            number, name = min(len(done), len(files) - 1), type(error).__name__
            if isinstance(error, Refused) and number:  # it is not known which of the files is the cause
                raise Stopped(f"{name}: {error}. {files[0].url} to {files[-1].url} were not applied{_ADVICE}") from error
            if number:
                apply(files[:number], [])
            behind = f"; {left} behind it wait" if (left := len(waiting) - number - 1) else ""
            raise Stopped(f"{name}: {error}. {waiting[number].url} was not applied{behind}{_ADVICE}") from error


def _uploaded(published: Folder, config: RunConfig, steps: Steps) -> Folder:
    """Repeat the upload of a run, which failed or was killed."""
    assert config.publish_to
    with workspace(config.output):
        steps("upload", upload, published, config.publish_to, config.keep)
    return published


def _require_applied_files(url: str, link: str, folder: Where, remembered: Path) -> None:
    """Raise Stopped if a new chain would not have all files of changes that the newest run in the object storage has."""
    history = uploaded_history(url, link)
    digests, listed = Remembered(remembered), {source.name: source for source in arrived(folder)}
    for name, digest in history:
        if name not in listed or _digest_of(listed[name], digests) != digest:
            raise Stopped(
                f"{url}: the run that {link} names has {len(history)} files of changes, and this machine lacks that run; "
                f"{name} is no longer in {_shown(folder)}, so reading the source would lose its changes; put it back, or start "
                "a new chain by `graphmill run`"
            )


def arrivals(folder: Where, history: list[Applied], remembered: Path) -> list[Source]:
    """The files that were not applied, by the code points of their names.

    Args:
        folder: A folder of this machine, the URL of one, a pattern, or several of these.
        history: The files that were applied.
        remembered: The file that keeps the digests of applied files, so that each is read again only after it was written.

    Raises:
        BadConfig: There is no such folder.
        Stopped: A file arrived after one that sorts behind it was applied, or was changed after it was applied itself.
        OSError: The file system failed.
    """
    listed, applied = arrived(folder), dict[str, set[str]]()
    for name, digest in history:
        applied.setdefault(name, set()).add(digest)
    digests = Remembered(remembered)
    for source in listed:
        if source.name in applied and _digest_of(source, digests) not in applied[source.name]:
            raise Stopped(f"{source.url}: has changed since it was applied{_ADVICE}")
    digests.save()
    waiting = [source for source in listed if source.name not in applied]
    last = max((source.name for source in listed if source.name in applied), default="")
    if waiting and waiting[0].name < last:
        raise Stopped(
            f"{waiting[0].url}: arrived after {last}, whose name comes later, was applied{_ADVICE}; a new name puts it last"
        )
    return waiting


def _digest_of(source: Source, digests: Remembered) -> str:
    if source.local is None:
        return identify(source, None)
    with reading(source):
        return digests.digest_of(source.local)


def arrived(where: Where) -> list[Source]:
    """The complete files in folders, those that patterns name, and single files, by name.

    Raises BadConfig if there is no such folder, and Stopped for a name that cannot be used, or that two files have.
    """
    entries = (where,) if isinstance(where, str) else where
    files = sorted((source for entry in entries for source in _arrived(entry)), key=lambda source: source.name)
    for one, other in pairwise(files):
        if one.name == other.name:
            raise Stopped(f"{other.url}: has the name of {one.url}, {one.name!r}, by which a file is known{_ADVICE}")
    return files


def _arrived(entry: str) -> list[Source]:
    if not has_magic(entry.partition("://")[2] or entry, url=url_of(entry) is not None) or Path(entry).is_dir():
        return _in_folder(entry)
    listed = [part.source for part in expanded(entry)[1].parts]
    if url_of(entry):
        _require_plain(entry, [source.name for source in listed])
    return listed


def _in_folder(folder: str) -> list[Source]:
    url = url_of(folder)
    with reading(Source(folder, None, "")):
        fs, root = fsspec.core.url_to_fs(url) if url else (LocalFileSystem(), folder)
        fs.invalidate_cache()
        if url and is_of_web_site(url):
            if folder.endswith("/"):
                raise BadConfig(f"changes.arrivals: {folder}: {NOT_LISTED}, or let them arrive in a folder or an object store")
            return [locate(folder)]
        if not fs.isdir(root):
            if fs.isfile(root):
                return [Source(folder, fs, root)]
            if fs.async_impl and fs.exists(root.split("/")[0]) and not fs.exists(root):
                return []  # an object store has no empty folders
            raise BadConfig(f"changes.arrivals: {folder} is not a folder")
        files = [  # links to files are files
            one
            for one in fs.ls(root, detail=True)
            if one["type"] == "file" or (one["type"] != "directory" and fs.isfile(one["name"]))
        ]
    names = sorted(one["name"].rpartition("/")[2] for one in files)
    complete = [name for name in names if not name.startswith(".") and not name.endswith(UNFINISHED)]
    if wrong := next((name for name in complete if not is_utf8(name)), None):
        raise Stopped(f"{folder}: the name {wrong!a} is not UTF-8{_ADVICE}")
    if url:
        _require_plain(folder, complete)
    return [Source(f"{folder.rstrip('/')}/{name}", fs, f"{root.rstrip('/')}/{name}") for name in complete]


def _require_plain(entry: str, names: Iterable[str]) -> None:
    """Raise Stopped for a name that is another one in a URL."""
    if wrong := next((name for name in names if re.search("[?#]|::", name)), None):
        raise Stopped(f"{entry}: the name {wrong!r} has ?, # or ::, which have a meaning in URLs{_ADVICE}")


def _shown(where: Where) -> str:
    return where if isinstance(where, str) else ", ".join(where)
