"""Publish repeatedly on a full disk; the argument is the folder where a small file system is mounted.

Prints how often the disk was full. Run by test_publication.py.
"""

import errno
import os
import sys
from pathlib import Path

from pipeline.steps.publication.publish import open_run
from tests.steps import Steps, path_steps


def fill(path: Path, free: int) -> None:
    """Make `path` so large that `free` bytes stay free."""
    state = os.statvfs(path.parent)
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(state.f_bavail * state.f_frsize - free, 1))


def disk_was_full(output: Path, steps: Steps, free: int) -> bool:
    """Publish with `free` bytes left; if the disk was full, check that only the previous run is there, and complete."""
    before = (output / "latest").readlink()
    filler = output / "filler"
    fill(filler, free)
    try:
        steps.publish(output)
    except OSError as error:
        assert error.errno == errno.ENOSPC, error
        assert error.filename, error
        assert (output / "latest").readlink() == before
        assert [path.name for path in (output / "runs").iterdir()] == [before.name]
        open_run(output / "latest")
        return True
    finally:
        filler.unlink()
    return False


def main() -> None:
    disk = Path(sys.argv[1])
    output = disk / "output"
    old = path_steps(disk / "old", 2000, spread=2**30)
    new = path_steps(disk / "new", 2001, spread=2**30)
    old.publish(output)
    page = 4096
    full = [disk_was_full(output, new, free) for free in [0] * 60 + [page] * 10]
    assert not disk_was_full(output, new, 100 * page)
    print(sum(full))


if __name__ == "__main__":
    main()
