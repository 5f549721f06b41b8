"""A run of which one call that changes a file fails, by a full disk or a broken device: one line, and nothing is left."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("failing_calls.c")


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("stride", [40, pytest.param(1, marks=pytest.mark.nightly)])
def test_an_input_or_output_error_is_one_line_and_leaves_nothing(stride, tmp_path):
    library = tmp_path / "failing.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], check=True)
    folder = tmp_path / "runs"
    folder.mkdir()
    command = [sys.executable, "-m", "tests.faults.failing", folder, str(stride)]
    environment = os.environ | {"LD_PRELOAD": str(library)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=SOURCE.parents[2])
    count, *faults = done.stdout.splitlines()
    assert int(count) > 150 and not faults, done.stdout
