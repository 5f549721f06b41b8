"""Runs in which one call that changes a file fails; `python -m tests.faults.failing FOLDER STRIDE`, failing_calls.c preloaded.

Prints each run that did not end with one line, left something behind, or changed what a reader sees.
"""

import ctypes
import errno
import os
import sys
from pathlib import Path

from tests.faults.endings import NOISE, Killed, content

CALLS = ctypes.CDLL(None)
ERRORS = (errno.ENOSPC, errno.EIO)


class Failing(Killed):
    """Runs in `folder` of which one call fails."""

    def fail(self, number: int, graph: str) -> int:
        """Fail a call of a run; return how many it made."""
        before = content(self.output / "latest")
        error = ERRORS[number % len(ERRORS)]
        CALLS.fail_at(str(self.output).encode(), number, error)  # inherited by the child, which counts its own
        status, text = self.run(graph)
        made = CALLS.calls_seen()
        CALLS.fail_at(b"", -1, 0)
        lines = text.splitlines()
        what = f"call {number}, {errno.errorcode[error]}: "
        if any(noise in text for noise in NOISE):
            self.faults.append(f"{what}traceback\n{text}")
        if left := self.leftovers():
            self.faults.append(f"{what}status {status}, left {sorted(map(str, left))}\n{text}")
        if status == 0 and content(self.output / "latest") == self.expected[graph]:
            return made
        if status != 1 or not lines[-1].startswith("graphmill: ") or os.strerror(error) not in lines[-1]:
            self.faults.append(f"{what}status {status}\n{text}")
        if content(self.output / "latest") != before:
            self.faults.append(f"{what}another run is visible\n{text}")
        return made


def main(folder: Path, stride: int) -> None:
    runs = Failing(folder)
    calls = runs.fail(0, "one")
    for count, number in enumerate(range(1, calls + 1, stride)):
        runs.fail(number, ("two", "one")[count % 2])
    runs.finish()
    print(calls, *runs.faults, sep="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
