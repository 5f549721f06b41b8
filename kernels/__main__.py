"""`python -m kernels` compiles the kernels, so that the first run does not wait for the compilers: on a GPU those for it, too."""

import time

from kernels.gpu.ahead.begin import compile_all as compile_for_gpu
from kernels.gpu.devices import obstacle
from kernels.warm_up import compile_all

if __name__ == "__main__":  # and not in the processes that compile
    started = time.perf_counter()
    compile_all()
    print(f"CPU kernels compiled in {time.perf_counter() - started:.0f} s")
    if not obstacle():
        started = time.perf_counter()
        compile_for_gpu()
        print(f"GPU kernels compiled in {time.perf_counter() - started:.0f} s")
