"""How long the way of a small run through the code is: what a newcomer reads who follows it from the command to a kernel.

`python -m tests.project.test_trips RESULT ARGUMENTS...` runs `graphmill ARGUMENTS`, and writes JSON to the file RESULT:

* `entered`: the files of which a function is called, with the names of these functions. Module and class bodies, comprehensions
  and lambdas do not count, nor do templates of the report.
* `frames`: the frames from the command to the breadth-first search, `file:function`, outermost first; a thread of a pool
  continues those of the thread that has given it its work.
"""

import atexit
import inspect
import json
import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from kernels.cpu.staying import StayingThreads

MOST_FILES = 167  # of which a run with bfs and sssp calls functions; four draw its small graph
MOST_FRAMES = 19  # from the command to the breadth-first search
MOST_FRAMES_OF_A_STAGE = 12  # the part in the thread that computes a stage
ROOT = Path(__file__).parents[2]
PACKAGES = ("flows", "pipeline", "kernels")
POOL = "kernels/cpu/staying.py"  # whose frames are not counted, as those of the standard library are not
COMMAND, SEARCH = "pipeline/cli/command.py:run", "kernels/bfs/cpu.py:search"

_entered: dict[str, set[str]] = {}
_frames: list[str] = []
_thread = threading.local()


@cache
def _file_of(code: CodeType) -> str | None:
    path = Path(code.co_filename)
    inside = path.suffix == ".py" and path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in PACKAGES
    return path.relative_to(ROOT).as_posix() if inside else None


def _frames_to(frame: FrameType | None) -> list[str]:
    inner: list[str] = []
    while frame:
        if (file := _file_of(frame.f_code)) and file != POOL:
            inner.append(f"{file}:{frame.f_code.co_name}")
        frame = frame.f_back
    return [*getattr(_thread, "outer", []), *reversed(inner)]


def _count(frame: FrameType, event: str, _: Any) -> None:
    code = frame.f_code
    if event != "call" or not code.co_flags & inspect.CO_OPTIMIZED or code.co_name.startswith("<"):
        return
    if file := _file_of(code):
        _entered.setdefault(file, set()).add(code.co_name)
        if f"{file}:{code.co_name}" == SEARCH and not _frames:
            _frames.extend(_frames_to(frame))


def _continue_frames() -> None:
    """Let the threads of pools know the frames from which they have been given their work."""
    for pool in (ThreadPoolExecutor, StayingThreads):
        pool.submit = _with_frames(pool.submit)  # type: ignore[method-assign]


def _with_frames(submit: Callable[..., Future[Any]]) -> Callable[..., Future[Any]]:
    def submit_with_frames(pool: Executor, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        outer = _frames_to(sys._getframe(1))

        def run() -> Any:
            _thread.outer = outer
            return work(*args, **kwargs)

        return submit(pool, run)

    return submit_with_frames


def _write(result: Path) -> None:
    sys.setprofile(None)
    entered = {file: sorted(functions) for file, functions in sorted(_entered.items())}
    frames = _frames[_frames.index(COMMAND) :] if COMMAND in _frames else []
    result.write_text(json.dumps({"entered": entered, "frames": frames}), encoding="utf-8")


@pytest.fixture(scope="module")
def trip(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The way of the second run over a graph of 60 edges, into a new folder: its kernels are compiled."""
    folder = tmp_path_factory.mktemp("trip")
    chance = random.Random(1)
    edges = (f"{chance.randrange(40)},{chance.randrange(40)},{chance.randint(1, 9)}\n" for _ in range(60))
    (folder / "edges.csv").write_text("src,dst,weight\n" + "".join(edges))
    for out in ("first", "second"):
        _run(folder / "trip.json", "run", folder / "edges.csv", "--stages", "bfs,sssp", "--backend", "cpu", "--out", folder / out)
    written: dict[str, Any] = json.loads((folder / "trip.json").read_text())
    return written


def _run(result: Path, *arguments: object) -> None:
    command = [sys.executable, "-m", "tests.project.test_trips", result, *arguments]
    run = subprocess.run([*map(str, command)], cwd=ROOT, env=os.environ, capture_output=True, text=True, check=False)
    assert not run.returncode, run.stderr


def test_a_run_enters_few_files(trip):
    entered = trip["entered"]
    assert {"pipeline/run.py", "kernels/bfs/cpu.py", "kernels/sssp/cpu.py", "pipeline/steps/verify.py"} <= set(entered)
    assert len(entered) <= MOST_FILES, "\n".join(entered)


def test_few_frames_are_between_the_command_and_a_kernel(trip):
    frames = trip["frames"]
    assert (frames[0], frames[-1]) == (COMMAND, SEARCH)
    assert len(frames) <= MOST_FRAMES, "\n".join(frames)
    given = max(number for number, frame in enumerate(frames) if frame == "pipeline/runtime/threads.py:concurrently")
    in_thread = [frame for frame in frames[given + 1 :] if "<listcomp>" not in frame]
    assert len(in_thread) <= MOST_FRAMES_OF_A_STAGE, "\n".join(in_thread)


if __name__ == "__main__":
    program, written, *arguments = sys.argv
    sys.argv = ["graphmill", *arguments]
    atexit.register(_write, Path(written))
    _continue_frames()
    threading.setprofile(_count)
    sys.setprofile(_count)
    from pipeline.cli import main

    main()
