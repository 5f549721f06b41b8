"""Settings of Python and its libraries for processes of many threads, most of which run code outside of Python."""

import gc
import os
import sys

SWITCH_INTERVAL = 0.0005  # seconds


def prepare_interpreter() -> None:
    """Make this process suited for many threads, if possible before it imports NumPy.

    Garbage is collected after 50,000 new objects: by Python's default, imports and steps would spend a fifth of their time on it.

    A thread that computes in Python gives up the GIL after `SWITCH_INTERVAL` if others wait for it. By default that takes 5 ms:
    while a thread imported modules, 16 others copied 2.4 GB/s to an H200, 12 GB/s with 0.5 ms, and 20 GB/s without imports.

    OpenBLAS starts no threads. No kernel uses it, and its threads spin on all cores for 0.1 s when NumPy is imported.
    """
    gc.set_threshold(50_000)
    sys.setswitchinterval(SWITCH_INTERVAL)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
