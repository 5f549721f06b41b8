"""An emulated GPU: the tests of the CUDA kernels run without a GPU. README.md describes it.

`machine/` compiles CUDA sources for the CPU and runs their kernels; `stand_ins/` has substitutes for
cupy that use it. `install()` makes `import cupy` find the substitute.
"""

import os
import shutil
import sys
from pathlib import Path

STAND_INS = Path(__file__).parent / "stand_ins"


def wanted() -> bool:
    """Whether tests run on emulated GPUs: EMULATED_GPU=1, or compute capabilities (machine/architectures.py)."""
    return os.environ.get("EMULATED_GPU", "0") != "0"


def missing() -> str | None:
    """Why kernels cannot be emulated on this machine; None if they can."""
    return None if shutil.which("g++") else "the emulated GPU needs g++, which is not installed"


def install() -> None:
    """Substitute CuPy in this process and in those that it starts."""
    if str(STAND_INS) not in sys.path:
        sys.path.insert(0, str(STAND_INS))
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(STAND_INS), os.environ.get("PYTHONPATH")]))
