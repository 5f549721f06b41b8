"""The folder that a user names for the result of a command: whatever else is there, or beside it, stays."""

import os
from contextlib import suppress
from pathlib import Path

from pipeline.errors import BadConfig, Damaged
from pipeline.store import manifest
from pipeline.store.manifest import Folder, flush, flush_all
from pipeline.store.scratch import remove_dead
from pipeline.store.workspace import require_outside


def prepare(out: Path, step: str) -> None:
    """Make the folder in which a step will write another one, without what killed commands left there.

    Raises:
        BadConfig: The folder holds what another step wrote, or a user; it is inside what a run made, or a file; or nothing can be
            written there.
    """
    _require_ours(out, step)
    for folder in out.resolve().parents:
        if folder.exists() and not folder.is_dir():
            raise BadConfig(f"{out}: {folder} is not a folder")
    require_outside(out, itself=False)
    out.parent.mkdir(parents=True, exist_ok=True)
    if not os.access(out.parent, os.W_OK | os.X_OK):
        raise BadConfig(f"{out}: its folder {out.parent.resolve()} is not writable")
    remove_dead(out.parent)


def _require_ours(out: Path, step: str) -> None:
    """Raise BadConfig unless the folder is missing or empty, or holds only what this step wrote."""
    foreign = out
    if not os.path.lexists(out):
        return
    with suppress(NotADirectoryError, Damaged):
        if not out.is_symlink() and not any(out.iterdir()):
            return
        if not out.is_symlink() and (present := manifest.read(out).manifest).step == step:
            known = {manifest.file_of(out).name, *(name.partition("/")[0] for name in present.files)}
            others = sorted(path for path in out.iterdir() if path.name not in known)
            if not others:
                return
            foreign = others[0]
    raise BadConfig(f"{foreign}: was not written by this command and would be replaced; name another folder")


def flushed(made: Folder) -> Folder:
    """Wait until a folder is on the disk, if it is new."""
    if not made.reused:
        flush_all(made.path)
        flush(made.path.parent)
    return made
