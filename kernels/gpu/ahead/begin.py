"""Begin to compile ahead, in processes beside this one, or compile all and wait."""

import os
import subprocess
import sys
from contextlib import suppress

from kernels.cpu.parallel import cores
from kernels.gpu.ahead import turn
from kernels.gpu.ahead.requests import compile_one, requests
from kernels.gpu.devices import compute_capability, current, require_supported

FEWEST_CORES = 4  # with fewer, the run itself would wait for the processes
MOST_PROCESSES = 16


def begin() -> None:
    """Let a process of its own call `compile_all`, without waiting for it, unless all is compiled. Needs a supported GPU.

    A process that needs what is being compiled waits for it (`kernels.gpu.cupy_internals`).
    """
    if cores() < FEWEST_CORES or turn.is_done(compute_capability(current())) or (lock := turn.take()) is None:
        return
    # -P: not from the working directory, where anybody's `kernels` may lie.
    command = [sys.executable, "-P", "-m", str(__package__)]
    try:
        subprocess.Popen(
            command, pass_fds=(lock,), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    finally:
        os.close(lock)


def compile_all() -> None:
    """Compile all requests for the current GPU, on all cores, and note that this was done. What fails is left to who needs it.

    Raises RuntimeError if kernels do not run on the GPU.
    """
    from concurrent.futures import ProcessPoolExecutor  # which `begin` does not need
    from multiprocessing import get_context

    require_supported()
    with ProcessPoolExecutor(min(cores(), MOST_PROCESSES), get_context("spawn")) as processes:
        list(processes.map(compile_one, requests()))
    with suppress(OSError):
        turn.note_done(compute_capability(current()))
