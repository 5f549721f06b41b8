"""The published run that a path names, and what it was made from."""

import os
from collections.abc import Sequence
from pathlib import Path

from pipeline.errors import BadConfig
from pipeline.outputs import output_folder
from pipeline.store import manifest
from pipeline.store.manifest import Folder
from pipeline.store.workspace import EDGES, FILES, GRAPHS, LATEST, RUN_ID


def linked_run(link: Path) -> Folder:
    """The run that a link such as `latest`, which may change at any time, names now. Raises Damaged."""
    return manifest.read(Path(os.path.realpath(link)))


def made_from(output: Path, run: Folder) -> tuple[Folder, Folder]:
    """The edge list and the stored graph of a run; no file is read. Raises BadConfig if a later run has replaced them."""
    return _step(output, run, "edges", EDGES), _step(output, run, "graph", GRAPHS)


def files_of_state(output: Path, link: str) -> list[Path]:
    """The files that changes of the state that a link names compare with their digests: all but the rows of the edge list.

    Raises:
        BadConfig: A later run has replaced the steps.
        Damaged: A manifest cannot be read, or names and sizes of files differ from it.
    """
    edges, graph = made_from(output, linked_run(output / link))
    return [*manifest.compared(edges, FILES), *manifest.compared(graph)]


def find_run(path: Path, beside: Folder | None = None) -> Folder:
    """Open a published run by its manifest.

    Args:
        path: An output folder or URL, whose latest run is taken; `OUT/latest`; `OUT/runs/ID`, or `OUT/ID` for short.
        beside: A run of the output folder to which a path that is only an id belongs.

    Raises:
        BadConfig: There is no such run.
        Damaged: Its manifest cannot be read.
    """
    path = output_folder(path)
    place = path / LATEST if (path / LATEST).is_symlink() else path
    if RUN_ID.fullmatch(path.name) and not path.exists():
        only_id = beside is not None and path.parent == Path()
        place = (beside.path.parent if beside and only_id else path.parent / "runs") / path.name
    place = Path(os.path.realpath(place))
    if not os.path.lexists(manifest.file_of(place)):
        why = "; this folder has runs, but no `latest`" if (place / "runs").is_dir() else ""
        raise BadConfig(f"{path}: no such run{why}; name an output folder, its `latest`, or a folder in its `runs`")
    run = manifest.read(place)
    if run.manifest.step != "run":
        raise BadConfig(f"{path}: is not a published run, but the folder of step {run.manifest.step}")
    return run


def _step(output: Path, run: Folder, name: str, folders: Sequence[str]) -> Folder:
    made = (output / "steps" / folder for folder in folders)
    if folder := manifest.find(made, run.manifest.inputs.get(name, ""), checked=False):
        return folder
    raise BadConfig(
        f"{run.path}: changes need the {name} that this run was made from, in `steps` of the output folder; another "
        "run has replaced it, or it was removed: run the source again"
    )
