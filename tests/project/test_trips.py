"""How long the way of a small run through the code is: what a newcomer reads who follows it from the command to a kernel."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.project.trips import COMMAND, ROOT, SEARCH

MOST_FILES = 133  # of which a run with bfs and sssp calls functions
MOST_FRAMES = 19  # from the command to the breadth-first search
MOST_FRAMES_OF_A_STAGE = 12  # the part in the thread that computes a stage


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
    command = [sys.executable, "-m", "tests.project.trips", result, *arguments]
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
