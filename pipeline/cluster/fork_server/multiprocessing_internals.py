"""What the project uses of Python's `multiprocessing` that Python does not document: here only, tried with Python 3.11 to 3.13.

Without one of the names, a run with local workers ends with an AttributeError. `tests/cluster/test_fork_server.py` fails if
Python changes one.
"""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import forkserver, process
from pathlib import Path
from typing import Any


@contextmanager
def socket_in(folder: str) -> Iterator[None]:
    """Let a fork server that starts in the block have its socket in `folder`, whose path has to be short.

    By itself it makes a folder, which nobody removes if the run is killed.
    """
    settings = process.current_process()._config  # type: ignore[attr-defined]
    before = settings.get("tempdir")
    settings["tempdir"] = folder
    try:
        yield
    finally:
        settings["tempdir"] = before


def kill_fork_server() -> None:
    """Kill the fork server of this process, if there is one, and wait for its end. The next one may start afterwards.

    Python itself ends it with this process, which is too late for clusters of one process that follow each other.
    """
    server: Any = forkserver._forkserver
    vars(server).pop("ensure_running", None)
    if server._forkserver_pid is not None:
        os.kill(server._forkserver_pid, signal.SIGKILL)  # its children hold nothing that is needed, either
        with suppress(FileNotFoundError):
            server._stop()


def kill_forked() -> None:
    """Kill the fork server of this process and all that it has forked; from any thread. None starts until `kill_fork_server`."""
    server: Any = forkserver._forkserver
    if (number := server._forkserver_pid) is None:
        return
    server.ensure_running = _refuse
    with suppress(OSError):  # no Linux, where nothing sees a lack of memory, either
        os.kill(number, signal.SIGSTOP)  # so that it forks none after they were listed
        _await_stop(number)
        forked = Path(f"/proc/{number}/task/{number}/children").read_text(encoding="ascii").split()
        for process_id in (number, *map(int, forked)):
            os.kill(process_id, signal.SIGKILL)


def _await_stop(number: int) -> None:
    """Wait until a child has stopped or ended, or for 20 ms; its status is left for others to ask."""
    for _ in range(20):
        if os.waitid(os.P_PID, number, os.WSTOPPED | os.WEXITED | os.WNOWAIT | os.WNOHANG):
            return
        time.sleep(0.001)


def _refuse() -> None:
    raise RuntimeError("no process is forked: this one is about to end for lack of memory")
