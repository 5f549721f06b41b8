"""`python -m tests.operators.compiling`: compile sources from standard input with NVRTC, and print what spills.

A process of its own, because the emulated GPU substitutes the package of NVRTC.
"""

import json
import sys

from kernels.gpu.loader import options
from tests.project.test_cuda_sources import SPILL, report_of

if __name__ == "__main__":
    for source, generated in json.load(sys.stdin):
        arguments = [*options(source), "--fmad=false", "--gpu-architecture=sm_90", "--ptxas-options=-v"]
        log = report_of(source, arguments, generated)
        if any((int(stores), int(loads)) != (0, 0) for _, stores, loads in SPILL.findall(log)):
            print(source, *[match[0] for match in SPILL.finditer(log)], log[:3000])
