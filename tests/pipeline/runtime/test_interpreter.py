"""What a process of the command does before it imports NumPy."""

import json
import os
import subprocess
import sys

import pytest

from pipeline.runtime.interpreter import SWITCH_INTERVAL, prepare_interpreter

CODE = """
import json, os, sys
from pipeline.runtime.interpreter import prepare_interpreter
assert "numpy" not in sys.modules
if sys.argv[1:]:
    prepare_interpreter()
import numpy
print(json.dumps(len(os.listdir("/proc/self/task"))))
"""


def threads_of_numpy(*prepared, **environment):
    """How many threads a process has that has imported NumPy."""
    own = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    command = [sys.executable, "-c", CODE, *prepared]
    return json.loads(subprocess.run(command, env=own | environment, check=True, capture_output=True, text=True).stdout)


def test_numpy_starts_no_threads():
    assert threads_of_numpy("prepared") == 1
    everywhere = {"OPENBLAS_NUM_THREADS": str(os.cpu_count())}
    assert threads_of_numpy("prepared", **everywhere) == threads_of_numpy()  # who asks for threads gets them


def test_threads_give_up_the_gil_soon():
    before = sys.getswitchinterval()
    try:
        prepare_interpreter()
        assert sys.getswitchinterval() == pytest.approx(SWITCH_INTERVAL)
    finally:
        sys.setswitchinterval(before)
