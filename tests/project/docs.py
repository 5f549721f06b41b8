"""The fenced blocks of a page, and a way to run them as their reader would.

```python blocks of a page share their names; ```sql goes to DuckDB; ```bash runs unchanged; in ```console the lines after
`$ ` are commands, and the lines below them must come out ("..." stands for anything). A block whose opening line continues with
`no-run` is left out: a page says there, or in the text around it, which test runs it.
"""

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w+)?[ \t]*(.*?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RUN = ("python", "sql", "bash", "console")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the line of the page on which the text starts."""

    language: str
    text: str
    line: int


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page that can be run, in its order."""
    content = page.read_text(encoding="utf-8")
    for fence in FENCE.finditer(content):
        if fence[1] in RUN and fence[2].strip() != "no-run":
            yield Block(fence[1], fence[3], content.count("\n", 0, fence.start(3)) + 1)


def below(page: Path, heading: str, language: str) -> list[str]:
    """The blocks of a language below a heading of the second level."""
    content = page.read_text(encoding="utf-8")
    (section,) = re.findall(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", content, re.MULTILINE | re.DOTALL)
    return [fence[3] for fence in FENCE.finditer(section) if fence[1] == language]


def run_page(page: Path, folder: Path) -> int:
    """Run a page's blocks in `folder`, and return how many; raises what a block raises."""
    names: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    with contextlib.chdir(folder):
        for count, block in enumerate(blocks(page), 1):  # noqa: B007
            if block.language == "python":
                source = "\n" * (block.line - 1) + block.text  # so that a traceback names the page's own line
                exec(compile(source, page, "exec"), names)
            elif block.language == "sql":
                assert duckdb.sql(block.text).fetchall(), f"{page}:{block.line}: no row"
            elif block.language == "bash":
                _shell(block.text, page, block.line)
            else:
                _console(block, page)
    return count


def _console(block: Block, page: Path) -> None:
    for session in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, expected = session.partition("\n")
        found = _shell(command, page, block.line)
        pattern = ".*".join(map(re.escape, expected.strip().split("...")))
        assert re.search(pattern, found, re.DOTALL), f"{page}:{block.line}: {command}\n{found}"


def _shell(command: str, page: Path, line: int) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command], text=True, check=False,
        env={**os.environ, "PATH": path, "XDG_CACHE_HOME": str(Path.cwd() / ".cache")},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, f"{page}:{line}: {command}\n{done.stdout}"
    return done.stdout
