"""What a process of the command does before it imports NumPy."""

import ctypes
import json
import os
import subprocess
import sys

import pytest

from pipeline.cluster.start import started
from pipeline.config.cluster import ClusterConfig
from pipeline.runtime import interpreter
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


FREED = """
import ctypes, json, resource, sys, threading
from pipeline.runtime.interpreter import keep_freed_memory, keeps_freed_memory
if sys.argv[1:]:
    keep_freed_memory()
assert keeps_freed_memory() == bool(sys.argv[1:])
faults = []
def work():
    for _ in range(9):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        bytearray(2**25)[::4096] = bytes(2**13)
        faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
thread = threading.Thread(target=work)
thread.start()
thread.join()
print(json.dumps(faults))
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="the C library is not glibc")
def test_memory_that_is_freed_is_kept():
    def faults(*kept):
        command = [sys.executable, "-c", FREED, *kept]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    first, *others = faults("kept")
    assert max(others) < first / 4
    first, *others = faults()
    assert min(others) > first / 4  # mapped again


def test_processes_that_a_cluster_starts_have_no_variable_of_this_one(monkeypatch):
    class Begun(Exception): ...

    def begin(*_):
        raise Begun

    monkeypatch.setenv("ARROW_DEFAULT_MEMORY_POOL", "system")
    monkeypatch.setattr(interpreter, "_own", {"ARROW_DEFAULT_MEMORY_POOL"})
    monkeypatch.setattr("pipeline.cluster.fork_server.forks_workers", begin)
    with pytest.raises(Begun), started(ClusterConfig(scheduler="local"), "cpu"):
        pass
    assert "ARROW_DEFAULT_MEMORY_POOL" not in os.environ


POOL = """
import json, os, sys
from pipeline.runtime.interpreter import keep_freed_memory
if cores := int(sys.argv[1]):
    os.sched_getaffinity = lambda _: range(cores)
    keep_freed_memory()
import pyarrow
from pipeline.runtime.early import hide_pandas
hide_pandas()
print(json.dumps([pyarrow.default_memory_pool().backend_name, os.environ.get("ARROW_DEFAULT_MEMORY_POOL")]))
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="the C library is not glibc")
def test_on_few_cores_arrow_shares_the_memory_that_is_kept_and_other_processes_do_not():
    own = {name: value for name, value in os.environ.items() if name != "ARROW_DEFAULT_MEMORY_POOL"}

    def pool(cores, **environment):
        command = [sys.executable, "-c", POOL, str(cores)]
        return json.loads(subprocess.run(command, env=own | environment, check=True, capture_output=True, text=True).stdout)

    assert pool(2) == ["system", None]
    other, variable = pool(0)
    assert other != "system" and variable is None
    assert pool(16) == [other, None]
    assert pool(2, ARROW_DEFAULT_MEMORY_POOL=other) == [other, other]  # who asks for a pool gets it
