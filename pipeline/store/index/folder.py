"""The folder of a reachability index: of a step, next to the table that was made from it, or of a published run."""

import os
from dataclasses import replace
from pathlib import Path

from pipeline.errors import BadConfig, Damaged
from pipeline.store import manifest
from pipeline.store.digests import digest_of_file
from pipeline.store.manifest import Folder

STEP = "reachability_index"
FORMAT = 1  # of the folder: its arrays and what they mean; an index of another format cannot be read


def index_of(answer: Folder) -> Folder:
    """The index next to a table of stage `reachability`. Raises Damaged unless the table was made from it."""
    folder = manifest.read(answer.path.with_name(STEP))
    if folder.digest != answer.manifest.inputs["index"]:
        raise Damaged(f"{folder.path}: is not the index that {answer.path} was made from")
    return replace(folder, reused=answer.reused)


def find_index(path: Path) -> Folder:
    """Find the index of a published run, of the latest run in an output folder, or in folder `path`, and check its files.

    Raises:
        BadConfig: There is none, or it has another format.
        Damaged: A file differs from the manifest, or the index is not the one that the run was published with.
    """
    latest = path / "latest"
    target = Path(os.path.realpath(latest if latest.is_symlink() else path))  # `latest` may move on meanwhile
    if not target.is_dir():
        raise BadConfig(f"{path}: no such folder of a run or an index")
    folder = manifest.read(target)
    if folder.manifest.step == "run":
        folder = _index_of_run(folder)
    if folder.manifest.step != STEP:
        raise BadConfig(f"{path}: is not a reachability index, but the folder of step {folder.manifest.step}")
    if (stored := folder.facts.get("format")) != FORMAT:
        raise BadConfig(f"{path}: the index has format {stored}, this version reads {FORMAT}; run stage reachability again")
    manifest.check(folder)
    return folder


def _index_of_run(run: Folder) -> Folder:
    """The index of a run. Raises BadConfig if it has none, Damaged if it is not the one that was published."""
    if f"{STEP}/{manifest.FILE}" not in run.manifest.files:
        raise BadConfig(f"{run.path}: this run has no index; run stage reachability")
    path = run.path / STEP
    if not (path / manifest.FILE).is_file():
        raise Damaged(f"{path / manifest.FILE}: missing")
    if digest_of_file(path / manifest.FILE) != run.manifest.files[f"{STEP}/{manifest.FILE}"].blake3:
        raise Damaged(f"{path}: is not the index that {run.path} was published with")
    return manifest.read(path)
