"""Publish on a disk with less and less room; the argument is the folder where a small file system is mounted.

Prints how often the disk was full. Run by test_publication.py.
"""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

from pipeline.steps.publish import open_run
from tests.steps import Steps, path_steps


def fill(path: Path, room: int) -> None:
    """Make `path` so large that `room` bytes stay free."""
    state = os.statvfs(path.parent)
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(state.f_bavail * state.f_frsize - room, 1))


def publish_with_room(output: Path, steps: Steps, room: int) -> bool:
    """Whether the disk was full; the run before is whole then, and nothing else is there."""
    before = (output / "latest").readlink()
    filler = output / "filler"
    fill(filler, room)
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
    full = [publish_with_room(output, new, room) for room in [0] * 60 + [page] * 10]
    assert not publish_with_room(output, new, 100 * page)
    print(sum(full))


if __name__ == "__main__":
    main()
