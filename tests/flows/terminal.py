"""A clone as an operator has it, and a shell in it that runs docs/operations.md."""

import datetime as dt
import os
import pty
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.flows.processes import ROOT
from tests.project.docs import below

PAGE = ROOT / "docs" / "operations.md"
DONE = "--done--"
CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")  # colours and movements of the cursor


def make_clone(clone: Path) -> Path:
    """The code, the environment and the deployments of this clone in a folder of their own, without `conf` and `data`.

    The deployments run twelve hours from now: a scheduled run during a test would replace what it looks at.
    """
    clone.mkdir(exist_ok=True)
    for name in ("flows", "graphmill", "kernels", "pipeline", "pyproject.toml"):
        (clone / name).symlink_to(ROOT / name)
    hour = (dt.datetime.now(dt.UTC).hour + 12) % 24
    deployments, count = re.subn(r'cron: "(\d+) \d+ ', rf'cron: "\1 {hour} ', (ROOT / "prefect.yaml").read_text())
    assert count
    (clone / "prefect.yaml").write_text(deployments)
    (clone / ".venv").symlink_to(sys.prefix)
    return clone


@dataclass
class Terminal:
    """One shell in the clone, as a person has it, with the page's port and other texts replaced; `within` is what starts it.

    `screen` has all lines that it has printed, as they came.
    """

    clone: Path
    environment: dict[str, str]
    port: int = 4200
    within: tuple[str, ...] = ()
    replaced: tuple[tuple[str, str], ...] = ()
    screen: list[str] = field(default_factory=list)

    def __post_init__(self):
        self.shell = subprocess.Popen(
            [*self.within, "bash", "--norc", "-e"], cwd=self.clone, env=self.environment, text=True, start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def run(self, heading: str, language: str = "bash", page: Path = PAGE) -> str:
        """Run a section; return what it printed. The shell ends at the first command that fails."""
        blocks = below(page, heading, language)
        assert blocks, f"no commands below {heading!r}"
        return "".join(map(self.type, blocks))

    def type(self, block: str) -> str:
        """Run lines; return what they printed."""
        for old, new in (("4200", str(self.port)), *self.replaced):
            block = block.replace(old, new)
        self.shell.stdin.write(f"{block}\necho {DONE}\n")
        self.shell.stdin.flush()
        lines = []
        for printed in self.shell.stdout:
            line = CONTROL.sub("", printed)
            if line.startswith(DONE):
                return "".join(lines)
            self.screen.append(printed)
            lines.append(line)
        return pytest.fail(f"{block}\n{''.join(lines)}")

    def log(self, name: str) -> str:
        path = self.clone / ".prefect" / name
        return path.read_text() if path.exists() else ""


class PseudoTerminal(Terminal):
    """The same with an interactive shell on a pseudo-terminal, as a window on the screen is."""

    def __post_init__(self):
        screen, keyboard = pty.openpty()
        self.shell = subprocess.Popen(
            ["bash", "--norc", "-i"], cwd=self.clone, env=self.environment | {"TERM": "xterm", "PS1": ""}, start_new_session=True,
            stdin=keyboard, stdout=keyboard, stderr=keyboard,
        )  # fmt: skip
        os.close(keyboard)
        self.shell.stdin = os.fdopen(screen, "w")
        self.shell.stdout = os.fdopen(os.dup(screen), "r", newline=None)
        self.type("stty -echo; set -e")
