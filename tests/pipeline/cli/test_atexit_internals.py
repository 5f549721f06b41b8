"""The part of `atexit` that is not documented: the test fails if Python changes it."""

import subprocess
import sys

CODE = """
import atexit, os, threading, time
from pipeline.cli.atexit_internals import run_exit_functions

threading.Thread(target=time.sleep, args=(10**6,)).start()  # Python's own exit would wait for it
atexit.register(print, "registered first")
atexit.register(print, "registered last")
run_exit_functions()
print("not waited", flush=True)
os._exit(0)
"""


def test_functions_are_called_in_their_order_and_no_thread_is_waited_for():
    ended = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines() == ["registered last", "registered first", "not waited"]
