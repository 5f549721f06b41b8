"""The command in a forked child, which need not import what this process has imported."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.faults.endings import started

GRAPHMILL = str(Path(sys.executable).parent / "graphmill")  # for tests of the process itself


def graphmill(*arguments: object, cwd: str | Path = "") -> subprocess.CompletedProcess[str]:
    """Run the command in a forked child."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        argv = ["graphmill", *map(str, arguments)]
        folder = Path(cwd).resolve()
        child = started(argv, folder, Path(tempfile.gettempdir()), output.fileno(), errors=errors.fileno())
        _, status = os.waitpid(child, 0)
        output.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(argv, os.waitstatus_to_exitcode(status), output.read(), errors.read())
