"""The folder that a user names for the result of a command: whatever else is there, or beside it, stays."""

import os
from contextlib import suppress
from pathlib import Path

from pipeline.errors import BadConfig, Damaged
from pipeline.store import manifest
from pipeline.store.manifest import Folder, flush, flush_all
from pipeline.store.scratch import remove_dead


def prepare(out: Path, step: str) -> None:
    """Make the folder in which a step will write another one, without what killed commands left there.

    Raises:
        BadConfig: The folder holds what another step wrote, or a user; or it is inside a folder that has a manifest, or a file.
    """
    _require_ours(out, step)
    for folder in out.resolve().parents:
        if folder.exists() and not folder.is_dir():
            raise BadConfig(f"{out}: {folder} is not a folder")
        with suppress(Damaged):
            found = manifest.read(folder).manifest.step
            raise BadConfig(
                f"{out}: is inside {folder}, the folder of a {found}, to which nothing may be added; name another folder"
            )
    out.parent.mkdir(parents=True, exist_ok=True)
    remove_dead(out.parent)


def _require_ours(out: Path, step: str) -> None:
    if not os.path.lexists(out):
        return
    with suppress(NotADirectoryError, Damaged):
        if not out.is_symlink() and (not any(out.iterdir()) or manifest.read(out).manifest.step == step):
            return
    raise BadConfig(f"{out}: was not written by this command and would be replaced; name another folder")


def flushed(made: Folder) -> Folder:
    """Wait until a folder is on the disk, if it is new."""
    if not made.reused:
        flush_all(made.path)
        flush(made.path.parent)
    return made
