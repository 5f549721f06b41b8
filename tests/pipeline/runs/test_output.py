"""Standard output that is full, closed or abandoned: the exit code and one line tell what was done."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.pipeline.runs.commands import GRAPHMILL

WAYS = {"full": ("> /dev/full", "No space left on device"), "closed": (">&-", "Bad file descriptor")}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "g.csv").write_text("src,dst\n1,2\n")
    return tmp_path


def called(folder: Path, command: str) -> tuple[int, list[str]]:
    """The exit code, and what is on standard error."""
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env={**os.environ, "G": GRAPHMILL}, capture_output=True, check=False
    )
    return done.returncode, done.stderr.decode().splitlines()


@pytest.mark.parametrize("way", WAYS)
def test_what_was_done_counts(way, folder):
    redirected, why = WAYS[way]
    status, lines = called(folder, f"$G run g.csv --stages bfs --out o {redirected}")
    assert (status, lines[-1]) == (0, f"graphmill: the run is published, but standard output cannot be written: {why}")
    assert (folder / "o" / "latest" / "report.html").is_file() and "Traceback" not in "".join(lines)
    status, lines = called(folder, f"$G matrix o --out m {redirected}")
    assert (status, lines[-1]) == (0, f"graphmill: the table is written, but standard output cannot be written: {why}")
    for command in ("runs o", "path o 1 2", "runs o --json", "--help"):
        assert called(folder, f"$G {command} {redirected}") == (1, [f"graphmill: standard output cannot be written: {why}"])


def test_all_streams_may_be_closed(folder):
    assert called(folder, "$G run g.csv --stages wcc --out o <&- >&- 2>&-") == (0, [])
    assert (folder / "o" / "latest" / "report.html").is_file()


def test_a_reader_that_stops_reading_is_no_failure(folder):
    assert called(folder, "set -o pipefail; $G --help | head -c 1") == (0, [])


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_name_that_the_terminal_cannot_show_is_no_failure(encoding, folder):
    (folder / "\u65e5\u672c.csv").write_text("src,dst\n1,2\n")
    status, lines = called(
        folder, f"export PYTHONIOENCODING={encoding} PYTHONUTF8=0; $G run \u65e5\u672c.csv --stages wcc --out \u65e5"
    )
    assert status == 0, lines
