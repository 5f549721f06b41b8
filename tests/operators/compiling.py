"""`python -m tests.operators.compiling`: compile sources from standard input with NVRTC, and print what it refuses or spills.

A process of its own, because the emulated GPU substitutes the package of NVRTC.
"""

import json
import sys

from kernels.gpu.loader import options
from tests.project.test_cuda_sources import SPILL, compile_source

if __name__ == "__main__":
    for source, text in json.load(sys.stdin):
        arguments = [*options(source), "--fmad=false", "--gpu-architecture=sm_90", "--ptxas-options=-v"]
        compiles, log = compile_source(text, source, arguments)
        if not compiles or any((int(stores), int(loads)) != (0, 0) for _, stores, loads in SPILL.findall(log)):
            print(source, *[match[0] for match in SPILL.finditer(log)], log[:3000])
