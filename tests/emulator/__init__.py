"""A stand-in for CuPy and a GPU: tests of the CUDA kernels run where there is none.

`install()` lets `import cupy` find `stand_ins/cupy`, whose arrays are NumPy's behind CuPy's refusals. A `.cu` source goes through
the preprocessor, `translation.py` makes C++ of it, `compiler.py` has g++ compile it with `cuda.h`, and `machine.cpp` runs the
kernel thread for thread. What it cannot show: missing fences, memory beyond this machine's, speed.

Environment variables: EMULATED_GPU=1 runs tests/gpu and tests/emulator on it. EMULATED_SEED, a number from 1 on, lets threads
take turns at random and not in their order. EMULATED_ARCHITECTURE=90 has clusters of blocks, which the 80 of every other run has
not: their 8192 threads take long.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

STAND_INS = Path(__file__).parent / "stand_ins"


def wanted() -> bool:
    """Whether tests are to run on it."""
    return os.environ.get("EMULATED_GPU") == "1"


def missing() -> str | None:
    """Why kernels cannot be emulated here; None where they can."""
    return None if shutil.which("g++") else "there is no g++, which compiles kernels for the emulator"


def install() -> None:
    """Put the stand-in in CuPy's place, in this process and in those it starts."""
    if str(STAND_INS) not in sys.path:
        sys.path.insert(0, str(STAND_INS))
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(STAND_INS), os.environ.get("PYTHONPATH")]))
