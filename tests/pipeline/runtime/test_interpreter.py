"""What a process of the command does before it imports NumPy."""

import json
import os
import subprocess
import sys
import threading
import time

from pipeline.runtime.interpreter import prepare_interpreter

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


def test_a_thread_that_computes_in_python_gives_way_soon():
    before, stop = sys.getswitchinterval(), threading.Event()

    def compute():
        while not stop.is_set():
            pass

    def seconds_of_waits():
        began = time.perf_counter()
        for _ in range(20):
            time.sleep(0)  # gives up the lock, and waits for it
        return time.perf_counter() - began

    computing = threading.Thread(target=compute)
    computing.start()
    try:
        sys.setswitchinterval(0.05)
        slow = seconds_of_waits()
        prepare_interpreter()
        assert seconds_of_waits() < slow / 4
    finally:
        stop.set()
        computing.join()
        sys.setswitchinterval(before)
