"""The published runs of an output folder: the previous one, all of them, and removing old ones."""

import datetime as dt
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import BadConfig, Damaged
from pipeline.steps.publication.retention import retire, runs_in
from pipeline.steps.publication.target import published_as
from pipeline.store import manifest
from pipeline.store.facts.run import RunFacts
from pipeline.store.manifest import Folder
from pipeline.store.scratch import scratch
from pipeline.store.workspace import workspace
from pipeline.tables.files import table_of


def run_before(run: Folder) -> Folder:
    """The run of the same name before this one in its output folder. Raises BadConfig if it is the first."""
    link = published_as(run.path)
    earlier = [path for path in runs_in(run.path.parent) if path.name < run.path.name and published_as(path) == link]
    if not earlier:
        raise BadConfig(f"{run.path}: there is no previous run to compare with; name another run")
    return manifest.read(earlier[-1])


@dataclass(frozen=True)
class ListedRun:
    """A run of an output folder; if its manifest is damaged, `problem` has the reason and the rest is empty."""

    id: str
    created: str = ""  # UTC, ISO 8601
    name: str = ""  # of the graph
    stages: tuple[str, ...] = ()  # those whose tables it has
    bytes: int = 0  # of its files
    links: tuple[str, ...] = ()  # names of the output folder's links to it, such as `latest`
    problem: str | None = None


def list_runs(output: Path) -> list[ListedRun]:
    """The runs of an output folder, oldest first; only their manifests are read. Raises BadConfig if it is not one."""
    links: dict[str, list[str]] = {}
    for link in sorted(path for path in _runs_folder(output).parent.iterdir() if path.is_symlink()):
        links.setdefault(link.readlink().name, []).append(link.name)
    return [_listed(path, tuple(links.get(path.name, ()))) for path in runs_in(output / "runs")]


def _listed(path: Path, links: tuple[str, ...]) -> ListedRun:
    try:
        run = manifest.read(path)
        facts = RunFacts.of(run)
    except Damaged as damage:
        return ListedRun(path.name, links=links, problem=str(damage))
    stages = tuple(stage for stage in facts.proofs if table_of(stage) in facts.tables)  # the others prove derived tables
    size = sum(entry.bytes for entry in run.manifest.files.values())
    return ListedRun(path.name, run.manifest.created, facts.graph.name, stages, size, links)


@dataclass(frozen=True)
class Pruned:
    """What `prune` did."""

    removed: list[str]  # ids
    kept: dict[str, str]  # the other runs that are older than the newest `keep`, and why each stays
    freed: int  # bytes: files may have other links, in `steps` or other runs


def prune(output: Path, keep: int, at_least: dt.timedelta | None = None) -> Pruned:
    """Remove all runs but the newest `keep`, as a run with that `keep` would.

    No link of the output folder loses its run, and a run stays for `at_least` after the next one was published, by default
    `READABLE`, for readers that still use it.

    Raises:
        Busy: A run works in the folder.
        BadConfig: It is not an output folder.
    """
    runs = _runs_folder(output)
    with workspace(output):
        before = bytes_of(output)
        with scratch(runs) as removed:
            names, kept = retire(runs, keep, removed, at_least=at_least)
        return Pruned(names, kept, before - bytes_of(output))


def bytes_of(folder: Path) -> int:
    """Bytes of all files below a folder, in which a run may be working; a file with several links counts once."""
    sizes = {}
    for above, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                status = os.lstat(Path(above, name))
                sizes[status.st_ino] = status.st_size
    return sum(sizes.values())


def _runs_folder(output: Path) -> Path:
    runs = output / "runs"
    if runs.is_symlink() or not runs.is_dir():
        raise BadConfig(f"{output}: is not the output folder of a run: it has no folder `runs`")
    return runs
