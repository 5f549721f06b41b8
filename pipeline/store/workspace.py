"""An output folder: exclusive use of it by one run, the link to its newest run, and the run that a path names.

Only what runs made is replaced or removed; links in the place of its folders and files are refused.
"""

import contextlib
import fcntl
import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from stat import S_ISREG

from pipeline.config.run import output_folder
from pipeline.errors import BadConfig, Busy, Damaged
from pipeline.signals import cleaned
from pipeline.store.manifest import Folder, file_of, read
from pipeline.store.scratch import link_or_copy, remove_dead, scratch

log = logging.getLogger(__name__)
RUN_ID = re.compile(r"([0-9]{8}T[0-9]{6}Z)-[0-9a-f]{8}")
STAMP = "%Y%m%dT%H%M%SZ"  # the time in a run's id


@contextmanager
def workspace(output: Path) -> Iterator[Path]:
    """Hold `output` for one run, remove the unfinished folders of killed runs, and give the folder of the steps.

    A run that made the folder and left nothing in it leaves no folder either.

    Raises:
        Busy: Another process holds the folder.
        BadConfig: The folder cannot be made, something in it that no run made is in the way, or as `require_outside`.
    """
    require_outside(output)
    steps, runs, existed = output / "steps", output / "runs", output.exists()
    try:
        steps.mkdir(parents=True, exist_ok=True)
        lock = os.open(output / ".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    except OSError as error:
        raise BadConfig(f"{output}: cannot be the output folder: {error.strerror} ({error.filename})") from None
    try:
        _hold(lock, output)
        for folder in (steps, runs):
            if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
                raise BadConfig(f"{folder}: is not a folder that a run made; move it away")
            remove_dead(folder)
        require_ours(output / "latest")
        # While this run holds the lock: a refused run must not remove the lock of its holder.
        with contextlib.nullcontext() if existed else cleaned(partial(_remove_empty, output)):
            yield steps
    finally:
        os.close(lock)


@contextmanager
def shared_workspace(output: Path) -> Iterator[Path]:
    """As `workspace` but, while another process holds `output`, give a private folder with links to its complete steps.

    What is made in the private folder is removed at the end of the block. Raises BadConfig as `workspace`.
    """
    with contextlib.ExitStack() as opened:
        try:
            steps = opened.enter_context(workspace(output))
        except Busy as busy:
            log.info("%s; this command works in a private folder", busy)
            steps = opened.enter_context(scratch(output / "steps"))
            for step in (output / "steps").iterdir():
                with contextlib.suppress(Damaged, FileNotFoundError):  # it is no step, or is being replaced
                    _link_step(read(step), steps / step.name)
        yield steps


def _link_step(step: Folder, target: Path) -> None:
    """Link the files of a step, the manifest first: what is linked in part is recognised as damaged."""
    for name in (file_of(step.path).name, *step.manifest.files):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        link_or_copy(step.path / name, target / name)


def require_outside(folder: Path, itself: bool = True) -> None:
    """Refuse to write into what a run made, also through a link: retention would remove it, and the run would be damaged.

    Raises BadConfig for a folder in that of a run or a step, or in `runs` or `steps`; with `itself` also for these themselves.
    """
    resolved = folder.resolve()
    for around in (*([resolved] if itself else []), *resolved.parents):
        if made := _made_as(around):
            where = "is" if around == resolved else f"is inside {around},"
            raise BadConfig(f"{folder}: {where} {made}, to which nothing may be added; name another folder")


def _made_as(folder: Path) -> str:
    """What a folder is that a run made; empty for any other."""
    with contextlib.suppress(Damaged):
        return f"the folder of a {read(folder).manifest.step}"
    if RUN_ID.fullmatch(folder.name) and folder.parent.name == "runs":
        return "the folder of a run"
    of_output = folder.name in ("runs", "steps") and (folder.parent / ".lock").is_file()
    return f"part of the output folder {folder.parent}" if of_output else ""


def require_ours(latest: Path) -> None:
    """Refuse to replace what no run made. A link to a run that was removed is replaced."""
    if latest.is_symlink():
        target = latest.readlink()
        if target.parent != Path("runs") or not RUN_ID.fullmatch(target.name):
            raise BadConfig(f"{latest}: is a link to {target}, which no run made; remove it")
    elif latest.exists():
        raise BadConfig(f"{latest}: is not a link that a run made; move it away")


def _hold(lock: int, output: Path) -> None:
    """Lock the open lock file, which only its owner may open: who can open a file can lock it, and so stop all runs."""
    status = os.fstat(lock)
    if not S_ISREG(status.st_mode):
        raise BadConfig(f"{output / '.lock'}: is not a file that a run made; move it away")
    if status.st_nlink == 1:
        with contextlib.suppress(OSError):  # another user's
            os.fchmod(lock, 0o600)  # an earlier version let others read it
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the kernel releases it when the process ends
    except BlockingIOError:
        raise Busy(f"{output}: another run works here (process {_holder(status.st_ino)})") from None
    except OSError as error:
        raise BadConfig(f"{output}: cannot be the output folder: {error.strerror} ({output / '.lock'})") from None
    if not os.fstat(lock).st_nlink:
        raise Busy(f"{output}: another run has just removed this folder; start again")


def _holder(inode: int) -> str:
    """The process that holds the lock on a file, as the kernel states it; "unknown" for one of another container or host."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/locks").read_text().splitlines():
            _, kind, _, _, process, file, *_ = line.replace("-> ", "").split()
            if kind == "FLOCK" and file.endswith(f":{inode}"):
                return process
    return "unknown"


def _remove_empty(output: Path) -> None:
    """Remove what `workspace` made, if nothing was added to it."""
    with contextlib.suppress(OSError):
        (output / "steps").rmdir()
        (output / ".lock").unlink()
        output.rmdir()


def linked_run(link: Path) -> Folder:
    """The run that a link such as `latest`, which may change at any time, names now. Raises Damaged."""
    return read(Path(os.path.realpath(link)))


def holds_runs(folder: Path) -> bool:
    """Whether a folder is that of runs, of one run or of a step, or has been: it has a manifest, or what `workspace` made."""
    return any(os.path.lexists(path) for path in (file_of(folder), *(folder / name for name in (".lock", "latest", "runs"))))


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
    if not os.path.lexists(file_of(folder)):
        why = "; this folder has runs, but no `latest`" if (folder / "runs").is_dir() else ""
        raise BadConfig(f"{path}: no such run{why}; name an output folder, its `latest`, or a folder in its `runs`")
    run = read(folder)
    if run.manifest.step != "run":
        raise BadConfig(f"{path}: is not a published run, but the folder of step {run.manifest.step}")
    return run
