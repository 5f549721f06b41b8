"""The steps of a run: called, shown while they run as live lines in a terminal or regular lines in the log, and remembered."""

import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from functools import cache, partial
from threading import Event, Thread
from typing import Any, ParamSpec, Protocol, TypeVar

from kernels.records import dataclass
from kernels.spans import span
from pipeline.progress import CURRENT, Progress
from pipeline.signals import cleaned
from pipeline.units import duration, size

P = ParamSpec("P")
R = TypeVar("R")
log = logging.getLogger(__name__)
LOG_EVERY = 10.0  # seconds between two lines of one step
LIVE_AFTER = 0.3  # seconds: a command that ends sooner shows no line, and does not import rich
_BAR = 20  # characters


@dataclass(eq=False)
class _Running:
    """A step that is running."""

    progress: Progress
    expected: Callable[[], float | None]  # seconds that the step will take, if that can be said
    context: Context  # in which its lines are logged: Prefect's names the task
    started: float
    logged: float

    def left(self, now: float) -> float | None:
        """Seconds that the step will still take; None if there is no estimate."""
        progress, elapsed = self.progress, now - self.started
        if progress.total and progress.done:
            return elapsed * max(progress.total / progress.done - 1, 0)
        expected = self.expected()
        return expected - elapsed if expected is not None and expected > elapsed else None

    def sentence(self, now: float) -> str:
        """What the step does, how far it is, its rate, and the time that is left."""
        progress, elapsed, left = self.progress, now - self.started, self.left(now)
        words = [progress.phase] if progress.phase else []
        if progress.done:
            amount = size if progress.unit == "bytes" else _number
            of = "" if progress.total is None else f" of {amount(progress.total)}"
            unit = "" if progress.unit == "bytes" else f" {progress.unit}"
            words += [f"{amount(progress.done)}{of}{unit}", f"{amount(progress.done / max(elapsed, 1e-9))} per second"]
        words.append(duration(elapsed))
        if left:
            words.append(f"about {duration(left)} left")
        return f"{progress.name}: {', '.join(words)}"


def _number(count: float) -> str:
    return f"{count:,.0f}" if count >= 10 or count == int(count) else f"{count:.1f}"


class Call(Protocol):
    """How a flow calls a step: as a task."""

    def __call__(self, name: str, step: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return `step(*args, **kwargs)`; `name` is for people."""


class Shown:
    """The running steps of a run."""

    def __init__(self) -> None:
        self._running: list[_Running] = []

    @contextmanager
    def step(self, name: str, expected: Callable[[], float | None] = lambda: None) -> Iterator[None]:
        """Show the block as step `name`; `expected` is called if there is no other estimate of its time."""
        progress, now = Progress(name), time.monotonic()
        token = CURRENT.set(progress)
        running = _Running(progress, expected, copy_context(), now, now)
        self._running.append(running)
        try:
            with span(name, "step"):
                yield
        finally:
            self._running.remove(running)
            CURRENT.reset(token)

    def names(self) -> str:
        """The names of the running steps, for people."""
        return " and ".join(running.progress.name for running in list(self._running))

    def log(self, ended: Event) -> None:
        """Log a line for each step at regular intervals, until `ended` is set."""
        while not ended.wait(LOG_EVERY / 5):
            now = time.monotonic()
            for running in list(self._running):
                if now - running.logged >= LOG_EVERY:
                    running.logged = now
                    running.context.run(log.info, "%s", running.sentence(now))

    def draw(self, ended: Event) -> None:
        """Draw a line for each step at the bottom of the terminal, until `ended` is set."""
        if ended.wait(LIVE_AFTER):
            return
        from rich.console import Console
        from rich.live import Live

        stream = sys.stderr
        with Live(
            get_renderable=self._lines, console=Console(stderr=True), refresh_per_second=5, transient=True, redirect_stdout=False
        ):
            # Rich prints what is written to its own streams above the lines.
            handlers = [handler for handler in logging.getLogger().handlers if getattr(handler, "stream", None) is stream]
            for handler in handlers:
                handler.setStream(sys.stderr)  # type: ignore[attr-defined]
            ended.wait()
            for handler in handlers:
                handler.setStream(stream)  # type: ignore[attr-defined]

    def _lines(self) -> Any:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        table, now = Table.grid(padding=(0, 1)), time.monotonic()
        for running in list(self._running):
            elapsed, left = now - running.started, running.left(now)
            bar = ProgressBar(1.0, 0.0 if left is None else elapsed / (elapsed + left), _BAR)
            table.add_row(bar, Text(running.sentence(now), no_wrap=True, overflow="ellipsis"))
        return table


class Steps:
    """Calls the steps of a run, shows each while it runs, and remembers those that have finished."""

    def __init__(self, shown: Shown, expected: Callable[[str], float | None] = lambda _: None, call: Call | None = None) -> None:
        """`expected` is the time of a step that counts nothing; `call` calls a step as a task, and None as a function."""
        self._shown, self._expected, self._call = shown, cache(expected), call
        self._finished: list[str] = []

    def __call__(self, name: str, step: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return `step(*args, **kwargs)`."""
        shown = self._shown.step(name, partial(self._expected, name))(step)
        result = self._call(name, shown, *args, **kwargs) if self._call else shown(*args, **kwargs)
        self._finished.append(name)
        return result

    def outlook(self) -> str:
        """What the next run does if a signal ends this one now."""
        if "publish" in self._finished:
            return "the run is published"
        if not self._finished:
            return "no step is finished, so the next run starts with the source"
        return f"the next run keeps {', '.join(self._finished)} and does the rest"


_shown: ContextVar[Shown | None] = ContextVar("shown", default=None)


@contextmanager
def showing(live: bool = False) -> Iterator[Shown]:
    """Show the steps that are followed in the block; within another such block, by that one.

    Args:
        live: Draw lines if standard error is a terminal, instead of logging.
    """
    if outer := _shown.get():
        yield outer
        return
    shown, ended = Shown(), Event()
    terminal = live and sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    thread = Thread(target=shown.draw if terminal else shown.log, args=(ended,), name="progress", daemon=True)

    def end() -> None:
        ended.set()
        thread.join(5)

    token = _shown.set(shown)
    thread.start()
    try:
        with cleaned(end):
            yield shown
    finally:
        _shown.reset(token)
