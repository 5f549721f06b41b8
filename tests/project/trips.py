"""Run the command, and write the way that it takes through the files of the project.

`python -m tests.project.trips RESULT ARGUMENTS...` runs `graphmill ARGUMENTS`, and writes JSON to the file RESULT:

* `entered`: the files of which a function is called, with the names of these functions. Module and class bodies, comprehensions
  and lambdas do not count, nor do templates of the report.
* `frames`: the frames from the command to the breadth-first search, `file:function`, outermost first; a thread of a pool
  continues those of the thread that has given it its work.
"""

import atexit
import inspect
import json
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).parents[2]
PACKAGES = ("flows", "pipeline", "kernels")
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
        if file := _file_of(frame.f_code):
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
    submit = ThreadPoolExecutor.submit

    def submit_with_frames(pool: ThreadPoolExecutor, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        outer = _frames_to(sys._getframe(1))

        def run() -> Any:
            _thread.outer = outer
            return work(*args, **kwargs)

        return submit(pool, run)

    ThreadPoolExecutor.submit = submit_with_frames  # type: ignore[method-assign]


def _write(result: Path) -> None:
    sys.setprofile(None)
    entered = {file: sorted(functions) for file, functions in sorted(_entered.items())}
    frames = _frames[_frames.index(COMMAND) :] if COMMAND in _frames else []
    result.write_text(json.dumps({"entered": entered, "frames": frames}), encoding="utf-8")


if __name__ == "__main__":
    program, written, *arguments = sys.argv
    sys.argv = ["graphmill", *arguments]
    atexit.register(_write, Path(written))
    _continue_frames()
    threading.setprofile(_count)
    sys.setprofile(_count)
    from pipeline.cli import main

    main()
