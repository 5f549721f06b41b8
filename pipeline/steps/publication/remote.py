"""Publication in object storage, at any URL that fsspec opens: the objects of a run, then a pointer to it.

Object stores have no rename and no links. A run's objects are written below `runs/ID/`, its manifest last; `NAME.json`, one small
object that the store replaces atomically, names the newest complete run. Until it is written readers see the run before.
"""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernels.cpu.parallel import over_items
from pipeline.errors import BadConfig
from pipeline.redaction import redacted
from pipeline.steps.publication.retention import created_at, published_at, reasons_to_keep
from pipeline.store import manifest
from pipeline.store.deltas.history import HISTORY, Applied, parsed
from pipeline.store.manifest import Folder
from pipeline.store.workspace import require_outside

log = logging.getLogger(__name__)
_USERS = ("NoCredentialsError", "PartialCredentialsError", "ParamValidationError", "ProfileNotFound")  # botocore's


@dataclass(frozen=True)
class Store:
    """A folder of an object store: the URL that the user gave, and its fsspec file system and path."""

    url: str
    fs: Any
    root: str

    def runs(self) -> dict[str, bool]:
        """The ids of the runs, ascending, and whether each is complete."""
        self.fs.invalidate_cache()
        paths = self.fs.find(f"{self.root}/runs") if self.fs.exists(f"{self.root}/runs") else []
        names = [path.removeprefix(f"{self.root}/runs/").split("/", 1) for path in paths]
        ids = sorted({name[0] for name in names if published_at(name[0])})
        complete = {name[0] for name in names if name[1:] == [manifest.FILE]}
        return {run: run in complete for run in ids}

    def pointers(self) -> dict[str, str]:
        """The runs that the pointers name, by the pointers' names. Other JSON is left out.

        Raises BadConfig for a file NAME.json that is not JSON: it may be a damaged pointer, whose run must not be removed.
        """
        runs = {}
        for path in self.fs.ls(self.root, detail=False) if self.fs.exists(self.root) else ():
            if not path.endswith(".json"):
                continue
            name = path.rpartition("/")[2]
            try:
                pointer = json.loads(self.fs.cat_file(path))
            except ValueError:
                raise BadConfig(f"output: {name} below {redacted(self.url)} is not JSON; remove it") from None
            if isinstance(pointer, dict) and isinstance(pointer.get("run"), str):
                runs[name.removesuffix(".json")] = pointer["run"]
        return runs

    def remove(self, run: str) -> None:
        """Remove a run, its manifest first: what is left after a failure is incomplete, and removed by the next upload."""
        folder = f"{self.root}/runs/{run}"
        if self.fs.exists(f"{folder}/{manifest.FILE}"):
            self.fs.rm_file(f"{folder}/{manifest.FILE}")
        self.fs.rm(folder, recursive=True)


def upload(published: Folder, url: str, keep: int = 0) -> str:
    """Copy a published run to object storage, and let the pointer of its link name it.

    Args:
        published: The run. A run that is there already is completed.
        url: A folder at any URL that fsspec can write. One run at a time writes there: the workspace of the run sees to that.
        keep: How many complete runs of the same link stay, the newest ones; 0 keeps all. A run also stays for
            `retention.READABLE` after the next one was published.

    Returns:
        The URL of the run.

    Raises:
        BadConfig: The URL cannot be opened, or may not be written.
        OSError: Anything else; the pointer still names the run before. A flow tries again.
    """
    run, link = published.path.name, published.facts["published_as"]
    with _storing(url):
        store = _existing(url)
        pointers = store.pointers()
        for other, complete in store.runs().items():
            if not complete and other < run and f"runs/{other}" not in pointers.values():
                store.remove(other)
        names = [*published.manifest.files, manifest.FILE]
        targets = {name: f"{store.root}/runs/{run}/{name}" for name in names}
        for target in {target.rpartition("/")[0] for target in targets.values()}:
            store.fs.makedirs(target, exist_ok=True)
        over_items(names[:-1], lambda name: _put(store, published, name, targets[name]), parallel=len(names) > 2)
        _put(store, published, manifest.FILE, targets[manifest.FILE])
        if pointers.get(link, "") < f"runs/{run}":
            pointer = {"run": f"runs/{run}", "manifest_sha256": manifest.digest_of(json.loads(_content(published)))}
            store.fs.pipe_file(f"{store.root}/{link}.json", json.dumps(pointer).encode())
        _retire(store, link, keep)
    log.info("run: uploaded to %s/runs/%s", url, run)
    return f"{url}/runs/{run}"


def require_store(url: str) -> None:
    """Raise BadConfig before a run works if its result could not be uploaded, because of the URL, its bucket or credentials."""
    with _storing(url):
        _existing(url).pointers()


def latest(url: str, link: str = "latest") -> str:
    """The URL of the newest complete run below an output URL; it stays readable for an hour after the next one."""
    with _storing(url):
        store = open_store(url)
        pointer = json.loads(store.fs.cat_file(f"{store.root}/{link}.json"))
    return f"{url.rstrip('/')}/{pointer['run']}"


def uploaded_history(url: str, link: str) -> list[Applied]:
    """The files of changes that the run has had which the pointer of a link names. Raises BadConfig and OSError as `upload`."""
    with _storing(url):
        store = _existing(url)
        run = store.pointers().get(link)
        changed = run is not None and store.fs.exists(f"{store.root}/{run}/{HISTORY}")
        return parsed(store.fs.cat_file(f"{store.root}/{run}/{HISTORY}")) if changed else []


def is_uploaded(published: Folder, url: str) -> bool:
    """Whether the pointer of a run's link names this run or a later one. Raises BadConfig and OSError as `upload`."""
    with _storing(url):
        return _existing(url).pointers().get(published.facts["published_as"], "") >= f"runs/{published.path.name}"


def open_store(url: str) -> Store:
    """Find the file system of a URL."""
    import fsspec

    fs, root = fsspec.core.url_to_fs(url)
    return Store(url, fs, root.rstrip("/"))


def _existing(url: str) -> Store:
    from fsspec.implementations.local import LocalFileSystem

    store = open_store(url)
    if isinstance(store.fs, LocalFileSystem):
        require_outside(Path(store.root))
    bucket = store.root.split("/")[0]
    if store.fs.async_impl and not store.fs.exists(bucket):  # making folders would make the bucket
        raise FileNotFoundError(f"there is no bucket {bucket}")
    return store


def _put(store: Store, published: Folder, name: str, target: str) -> None:
    """Copy a file, unless it is there in its length: an object appears as a whole or not at all."""
    source = published.path / name
    size = source.stat().st_size
    if not (store.fs.exists(target) and store.fs.size(target) == size):
        store.fs.put_file(str(source), target)


def _content(published: Folder) -> bytes:
    return (published.path / manifest.FILE).read_bytes()


def _retire(store: Store, link: str, keep: int) -> None:
    """Remove all but the newest `keep` runs of a link."""
    if not keep:
        return
    pointed = {run.removeprefix("runs/"): name for name, run in store.pointers().items()}
    complete = [run for run, is_complete in store.runs().items() if is_complete]
    manifests = {run: json.loads(store.fs.cat_file(f"{store.root}/runs/{run}/{manifest.FILE}")) for run in complete}
    of_link = [run for run in complete if manifests[run]["facts"]["published_as"] == link]
    for run, reason in reasons_to_keep(of_link, keep, pointed, lambda run: created_at(manifests[run])).items():
        if not reason:
            store.remove(run)


@contextmanager
def _storing(url: str) -> Iterator[None]:
    """Turn errors that a user can fix into BadConfig, others into OSError, so that a flow retries. Messages have no secrets."""
    shown = redacted(url)
    try:
        yield
    except (BadConfig, KeyboardInterrupt):
        raise
    except (FileNotFoundError, PermissionError, ValueError, ImportError) as error:
        raise BadConfig(f"{shown}: cannot be used: {redacted(str(error)) or type(error).__name__}") from None
    except OSError as error:
        raise OSError(f"{shown}: {redacted(str(error))}") from None
    except Exception as error:
        if type(error).__name__ in _USERS:
            raise BadConfig(f"{shown}: cannot be used: {redacted(str(error))}") from None
        raise OSError(f"{shown}: {type(error).__name__}: {redacted(str(error))}") from None
