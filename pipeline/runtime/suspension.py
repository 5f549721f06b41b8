"""Suspends all threads of this process but a few, wherever they compute, so that its memory grows no more while it ends."""

import ctypes
import os
import signal
import threading
from itertools import repeat
from pathlib import Path

TASKS = Path("/proc/self/task")
SIGNAL = signal.SIGUSR1  # its number is the seconds for which a thread is suspended
_COMPUTING = ("Thread-", "ThreadPoolExecutor-")  # how threads without a name are called; those that serve have one


def suspend_threads() -> int:
    """Suspend other threads that may compute, for ten seconds: those of libraries, and Python's without a name; return how many.

    The kernel runs `sleep` in them, as the handler of a signal. None of them holds Python's lock: this thread has it, and `map`
    gives it away between no two signals. One that holds another lock delays who waits for it, at most for these seconds.
    """
    library = ctypes.PyDLL(None)  # which keeps Python's lock during calls
    if not hasattr(library, "tgkill"):  # no Linux
        return 0
    library.signal.restype, library.signal.argtypes = ctypes.c_void_p, (ctypes.c_int, ctypes.c_void_p)
    library.signal(SIGNAL, ctypes.cast(library.sleep, ctypes.c_void_p))
    spared = {threading.get_native_id()}
    spared |= {thread.native_id or 0 for thread in threading.enumerate() if not thread.name.startswith(_COMPUTING)}
    others = [number for number in [int(task.name) for task in TASKS.iterdir()] if number not in spared]
    sent = list(map(library.tgkill, repeat(os.getpid()), others, repeat(int(SIGNAL))))
    return sent.count(0)
