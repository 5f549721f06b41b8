"""How far steps are: what they state, the lines in a log, and the live lines in a real terminal."""

import fcntl
import logging
import os
import pty
import re
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
from contextvars import copy_context
from pathlib import Path

import pytest

from pipeline import progress
from pipeline.config.loading import run_config
from pipeline.progress import shown
from pipeline.progress.shown import Shown, showing
from pipeline.run import run

ROOT = Path(__file__).parents[3]
ESCAPE = "\x1b["


class Clock:
    """Stands for the time, and for an event that is set after some waits."""

    def __init__(self, monkeypatch, waits: int = 0, step: float = 2.0):
        self.now, self.waits, self.step = 100.0, waits, step
        monkeypatch.setattr(shown.time, "monotonic", lambda: self.now)

    def wait(self, _: float) -> bool:
        self.now += self.step
        self.waits -= 1
        return self.waits < 0


def sentences(caplog) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "pipeline.progress.shown"]


def test_a_step_that_runs_long_has_a_line_in_the_log_now_and_then(monkeypatch, caplog):
    clock, steps = Clock(monkeypatch, waits=12), Shown()
    with caplog.at_level(logging.INFO):
        steps.step("sssp")(lambda: (progress.reached(3, 12, "sources"), steps.log(clock)))()
    assert sentences(caplog) == [  # 24 seconds, a line every ten
        "sssp: 3 of 12 sources, 0.3 per second, 10 s, about 30 s left",
        "sssp: 3 of 12 sources, 0.1 per second, 20 s, about 60 s left",
    ]


@pytest.mark.parametrize(
    ("state", "expected", "sentence"),
    [
        (lambda: progress.phase("proving"), None, "graph: proving, 4.0 s"),
        (lambda: progress.phase("proving"), 10.0, "graph: proving, 4.0 s, about 6.0 s left"),
        (lambda: None, 3.0, "graph: 4.0 s"),
        (lambda: progress.reached(2e6, None, "bytes"), None, "graph: 2.0 MB, 500.0 kB per second, 4.0 s"),
        (lambda: progress.reached(8, 2400, "rows"), 1, "graph: 8 of 2,400 rows, 2 per second, 4.0 s, about 20 min left"),
        (lambda: list(progress.counted("ab", [300, 100], "pairs")), None, "graph: 400 of 400 pairs, 100 per second, 4.0 s"),
        (lambda: (list(progress.counted("a", [1], "sources")), progress.advance()), None, "graph: 4.0 s"),
    ],
)  # fmt: skip
def test_a_line_says_what_how_far_the_rate_and_the_time_left(state, expected, sentence, monkeypatch):
    clock, steps, found = Clock(monkeypatch, step=4.0), Shown(), []
    with steps.step("graph", lambda: expected):
        state()
        clock.wait(0)
        found.extend(step.sentence(clock.now) for step in steps._running)
    assert found == [sentence]


def test_answers_of_many_sources_are_counted(tmp_path, monkeypatch):
    """Between two tasks, which are files, each answer counts."""
    (tmp_path / "path.csv").write_text("src,dst\n" + "".join(f"{n},{n + 1}\n" for n in range(9)))
    seen, advance = [], progress.advance

    def advanced() -> None:
        advance()
        seen.append((progress.CURRENT.get().name, progress.CURRENT.get().done))  # several stages at a time

    monkeypatch.setattr(progress, "advance", advanced)
    graph = {"source": str(tmp_path / "path.csv")}
    run(run_config("test", graph=graph, output=tmp_path / "out", stages=["bfs"], sources=range(5), backend="cpu"))
    for step in ("bfs", "proof-bfs"):
        assert [done for name, done in seen if name == step] == [1, 2, 3, 4, 5]


def test_what_runs_elsewhere_states_nothing():
    progress.phase("reading")
    progress.reached(1, 2, "sources")
    progress.advance()
    assert list(progress.counted("ab", [1, 1], "sources")) == ["a", "b"]
    assert progress.CURRENT.get() is None


def test_a_block_within_another_is_shown_by_that_one():
    def inner() -> None:
        with showing() as outer, showing() as again:
            assert again is outer

    before = {*threading.enumerate()}
    copy_context().run(inner)
    assert {*threading.enumerate()} <= before


# The command, in which reading the edges and the layout take until a frame shows them.
LASTING = """
import time
from pipeline import progress
from pipeline.cli import main
from pipeline.progress.shown import Shown

drawn, lines = 0, Shown._lines
awaited = {"edges": lambda step: step.unit == "edges" and step.done, "graph": lambda step: step.phase}

def noted(self):
    global drawn
    drawn += 1
    return lines(self)

def lasting(report):
    def reported(*arguments):
        report(*arguments)
        step = progress.CURRENT.get()
        if step and step.name in awaited and awaited[step.name](step):
            del awaited[step.name]
            last = drawn + 2  # the frame after that which may be half made
            while drawn < last:
                time.sleep(0.01)
    return reported

Shown._lines, progress.reached, progress.phase = noted, lasting(progress.reached), lasting(progress.phase)
main()
"""


def in_terminal(
    *arguments: object, until: str | None = None, program: tuple[str, str] = ("-m", "pipeline.cli"), **environment: str
) -> tuple[int, str]:
    """Run the command in a terminal, and press Ctrl-C when it has printed `until`; its exit code and all that it printed."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 150, 0, 0))
    variables = {**os.environ, "TERM": "xterm-256color", **environment}
    variables.pop("COLUMNS", None)
    command = [sys.executable, *program, *map(str, arguments)]
    child = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=variables, start_new_session=True, cwd=ROOT)
    os.close(theirs)
    printed = b""
    while True:
        try:
            printed += os.read(ours, 65536)
        except OSError:  # the terminal's other end is closed
            break
        if until and until in printed.decode(errors="ignore"):
            child.send_signal(signal.SIGINT)
            until = None
    os.close(ours)
    return child.wait(), printed.decode()


NEW_YORK = ROOT / "data" / "USA-road-d.NY.gr.gz"


def test_a_terminal_shows_live_lines_and_keeps_the_log(tmp_path):
    run = ("run", NEW_YORK, "--stages", "bfs,sssp", "--source", 1, "--source", 7, "--backend", "cpu", "--out", tmp_path / "out")
    code, printed = in_terminal(*run, program=("-c", LASTING))
    assert code == 0
    assert re.search(r"edges: [\d,]+ of 730,100 edges, [\d,]+ per second, ", printed)
    assert re.search(r"graph: (reading the edges|ordering the rows|storing|proving), [\d.]+ (s|min)", printed)
    assert printed.count(f"{ESCAPE}?25l") == printed.count(f"{ESCAPE}?25h") == 1  # the cursor is hidden, then shown again
    shown, _, after = printed.rpartition(f"{ESCAPE}?25h")
    for step in ("edges", "graph", "bfs", "proof-sssp", "report"):
        assert re.search(rf"\d\d:\d\d:\d\d  {step}: \d+\.\d\d s\r\n", shown), step
    assert "every answer proved" in after and "per second" not in after


def test_ctrl_c_ends_the_live_lines(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes the request for the graph, and never answers
        source = f"http://127.0.0.1:{silent.getsockname()[1]}/roads.gr"
        code, printed = in_terminal("run", source, "--backend", "cpu", "--out", tmp_path / "out", until="edges: ")
    assert code == 128 + signal.SIGINT
    # The bar's colour may be reset between the cleared line and the message.
    assert re.search(r"\x1b\[2K(\x1b\[0m)?graphmill: ended by SIGINT; [^\x1b]*\r\n$", printed)
    assert printed.count(f"{ESCAPE}?25l") == printed.count(f"{ESCAPE}?25h")


def test_neither_a_pipe_nor_a_dumb_terminal_gets_live_lines(tmp_path):
    (tmp_path / "roads.csv").write_text("src,dst,weight\n1,2,5\n2,3,1\n3,1,4\n")
    run = ("run", tmp_path / "roads.csv", "--stages", "wcc", "--backend", "cpu", "--out", tmp_path / "out")
    code, printed = in_terminal(*run, TERM="dumb")
    assert code == 0 and f"{ESCAPE}?25l" not in printed
    command = [sys.executable, "-X", "importtime", "-m", "pipeline.cli", *map(str, run)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert ESCAPE not in done.stdout + done.stderr
    assert "rich.live" not in done.stderr
