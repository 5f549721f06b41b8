"""The published run that a path names."""

import os
from pathlib import Path

from pipeline.config.run import output_folder
from pipeline.errors import BadConfig
from pipeline.store import manifest
from pipeline.store.manifest import Folder
from pipeline.store.workspace import RUN_ID


def linked_run(link: Path) -> Folder:
    """The run that a link such as `latest`, which may change at any time, names now. Raises Damaged."""
    return manifest.read(Path(os.path.realpath(link)))


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
    folder = path / "latest" if (path / "latest").is_symlink() else path
    if RUN_ID.fullmatch(path.name) and not path.exists():
        only_id = beside is not None and path.parent == Path()
        folder = (beside.path.parent if beside and only_id else path.parent / "runs") / path.name
    folder = Path(os.path.realpath(folder))
    if not os.path.lexists(manifest.file_of(folder)):
        why = "; this folder has runs, but no `latest`" if (folder / "runs").is_dir() else ""
        raise BadConfig(f"{path}: no such run{why}; name an output folder, its `latest`, or a folder in its `runs`")
    run = manifest.read(folder)
    if run.manifest.step != "run":
        raise BadConfig(f"{path}: is not a published run, but the folder of step {run.manifest.step}")
    return run
