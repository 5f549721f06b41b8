"""`python -m kernels.gpu.ahead` compiles all requests: what `begin` starts."""

from kernels.gpu.ahead.begin import compile_all

if __name__ == "__main__":
    compile_all()
