"""Start processes so that every descendant can be found again, also when its parents are gone."""

import os
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[2]
MARK = "GRAPHMILL_TEST_MARK"
# Stops the process when it logs the texts of STOP_AT, one after the other, so that nothing goes on while the test acts.
STOPPING = """
import logging, os, signal
texts = os.environ["STOP_AT"].split("|")
make = logging.getLogRecordFactory()
def made(*arguments, **named):
    record = make(*arguments, **named)
    if texts and texts[0] in record.getMessage():
        os.write(1, f"stopped: {texts.pop(0)}\\n".encode())
        os.kill(os.getpid(), signal.SIGSTOP)
    return record
logging.setLogRecordFactory(made)
"""


def clean_environment(home: Path, *paths: Path) -> dict[str, str]:
    """This process's environment without any of Prefect's settings, with `home` for its state, and marked."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT", "DO_NOT_TRACK"))}
    search = os.pathsep.join(map(str, (*paths, ROOT)))
    return kept | {"PREFECT_HOME": str(home), "PYTHONPATH": search, "PYTHONUNBUFFERED": "1", MARK: uuid.uuid4().hex}


def stopping_at(folder: Path, *texts: str) -> dict[str, str]:
    """Changes of an environment, with which its Python processes stop when they log these texts; `folder` is theirs."""
    (folder / "sitecustomize.py").write_text(STOPPING)
    search = os.pathsep.join(map(str, (folder, ROOT)))
    return {"PYTHONPATH": search, "STOP_AT": "|".join(texts)}


def await_stop(process: subprocess.Popen[str], text: str) -> None:
    """Read what a process prints until it has stopped at a text."""
    printed = []
    for line in process.stdout:
        printed.append(line)
        if line == f"stopped: {text}\n":
            # The line is printed before the signal is sent.
            assert os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT).si_code == os.CLD_STOPPED
            return
    raise AssertionError(f"{text!r} was not logged:\n{''.join(printed)}")


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


@contextmanager
def reserved_port() -> Iterator[int]:
    """A port on which only a server that asks for it can listen: Linux allows that as long as no other socket does."""
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def flow_process(environment: dict[str, str], cwd: Path, *arguments: str | Path) -> subprocess.Popen[str]:
    """`python -m flows ARGUMENTS`; output and errors in one stream."""
    return subprocess.Popen(
        [sys.executable, "-m", "flows", *map(str, arguments)], env=environment, cwd=cwd, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
