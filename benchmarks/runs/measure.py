"""Run a command and measure what it used: wall time, CPU time and memory, its child processes included."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Usage:
    """What a finished command used."""

    # wall, cpu: seconds; `cpu` of user and system, of all its processes.
    wall: float
    cpu: float
    peak: int  # bytes of memory of its largest process
    output: str  # its standard output

    @property
    def cores(self) -> float:
        """Cores that were busy on average."""
        return self.cpu / self.wall


def run(command: Sequence[str], log: Path) -> Usage:
    """Run a Python command in this folder; its messages go to `log`. Raises CalledProcessError if it fails.

    Python's compiled modules are kept beside `log`: packages that were copied to a machine may have none, and compiling all of
    them takes up to two seconds in each process.
    """
    compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(log.parent.absolute() / "compiled")}
    with tempfile.TemporaryFile() as output, log.open("wb") as messages:
        begin = time.perf_counter()
        process = subprocess.Popen([sys.executable, *command], stdout=output, stderr=messages, env={**os.environ, **compiled})
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)
        output.seek(0)
        return Usage(wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, output.read().decode())
