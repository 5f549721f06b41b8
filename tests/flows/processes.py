"""Start processes so that every descendant can be found again, also when its parents are gone."""

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[2]
MARK = "GRAPHMILL_TEST_MARK"


def clean_environment(home: Path, *paths: Path) -> dict[str, str]:
    """This process's environment without any of Prefect's settings, with `home` for its state, and marked."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT", "DO_NOT_TRACK"))}
    search = os.pathsep.join(map(str, (*paths, ROOT)))
    return kept | {"PREFECT_HOME": str(home), "PYTHONPATH": search, "PYTHONUNBUFFERED": "1", MARK: uuid.uuid4().hex}


def alive(environment: dict[str, str]) -> list[psutil.Process]:
    """Every living process that was started in `environment`, or by one that was."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(MARK) == environment[MARK] and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def eventually(holds: Callable[[], object], seconds: float = 240) -> bool:
    """Whether `holds` within `seconds`, of which a busy machine may take many."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def end(environment: dict[str, str]) -> None:
    """Kill what is left of a test that failed."""
    for process in alive(environment):
        with suppress(psutil.NoSuchProcess):
            process.kill()


def flow_process(environment: dict[str, str], cwd: Path, *arguments: str | Path) -> subprocess.Popen[str]:
    """`python -m flows ARGUMENTS`; output and errors in one stream."""
    return subprocess.Popen(
        [sys.executable, "-m", "flows", *map(str, arguments)], env=environment, cwd=cwd, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
