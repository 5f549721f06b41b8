"""`python -m kernels` compiles the CPU kernels, so that the first run does not wait for the compiler."""

import time

from kernels.warm_up import compile_all

started = time.perf_counter()
compile_all()
print(f"CPU kernels compiled in {time.perf_counter() - started:.0f} s")
