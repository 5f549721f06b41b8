"""Settings of Python and its libraries for processes of many threads, most of which run code outside of Python."""

import ctypes
import gc
import os
import sys
from importlib import import_module

SWITCH_INTERVAL = 0.0005  # seconds
_ARENA_MAX, _MMAP_MAX, _TRIM_THRESHOLD = -8, -4, -1  # of glibc's <malloc.h>
_ARROW_POOL = "ARROW_DEFAULT_MEMORY_POOL"  # which Arrow reads when it is imported
_FEW_CORES = 4
_keeps = list[bool]()
_own = set[str]()  # variables of the environment that only this process needs


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


def keep_freed_memory() -> None:
    """Let the C library keep what is freed, in one heap for all threads; to be called before others are started.

    By default it maps large arrays one by one, and the kernel zeroes their pages again and again: a seventh of the CPU time of a
    run. Arrow, with memory of its own, would have pages zeroed that NumPy has freed: another fifteenth on two cores. On 16 cores
    its threads would wait for the heap, for longer than that.
    `pipeline.runtime.memory.return_unused` returns memory where it is short.
    """
    if adjust := getattr(ctypes.CDLL(None), "mallopt", None):  # glibc's
        _keeps.extend(
            adjust(parameter, value) == 1 for parameter, value in ((_ARENA_MAX, 1), (_MMAP_MAX, 0), (_TRIM_THRESHOLD, -1))
        )
    if keeps_freed_memory() and len(os.sched_getaffinity(0)) <= _FEW_CORES and _ARROW_POOL not in os.environ:
        os.environ[_ARROW_POOL] = "system"
        _own.add(_ARROW_POOL)


def share_environment() -> None:
    """Remove what is for this process only, once Arrow is imported: the processes that it starts return what they free."""
    if _own:
        import_module("pyarrow")
    while _own:
        os.environ.pop(_own.pop(), None)


def keeps_freed_memory() -> bool:
    """Whether `keep_freed_memory` has had its effect in this process."""
    return bool(_keeps) and all(_keeps)
