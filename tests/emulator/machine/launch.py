"""Modules, kernels and launches of the emulated machine."""

import ctypes
import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from tests.emulator.machine import compiler
from tests.emulator.machine.architectures import PROCESSORS, STATIC_BYTES, current

SEED = int(os.environ.get("EMULATED_SEED", "0"))
CLUSTERS = 1  # that run at the same time
LIMIT = 100.0  # CPU seconds after which a launch is given up
LAUNCHED: set[tuple[str, str]] = set()  # sources and kernels that this process has launched
_launches = itertools.count(1)


class _Parameter(ctypes.Structure):
    _fields_ = (("bytes", ctypes.c_int), ("kind", ctypes.c_char))


class _Kernel(ctypes.Structure):
    _fields_ = (
        ("run", ctypes.c_void_p),
        ("parameters", ctypes.POINTER(_Parameter)),
        ("num_parameters", ctypes.c_int),
        ("most_threads", ctypes.c_int),
        ("cluster", ctypes.c_int),
        ("shared", ctypes.c_char_p),
    )


class EmulatedFault(RuntimeError):
    """A kernel did what CUDA forbids, or did not end."""


@dataclass(frozen=True)
class Kernel:
    """A kernel of a module.

    `parameters` are sizes in bytes and NumPy kinds, `static` the bytes of its static shared memory, `of_module` those of all
    kernels, which the emulator allocates, and `code` the source.
    """

    name: str
    entry: _Kernel
    parameters: tuple[tuple[int, str], ...]
    static: int
    of_module: int
    code: str

    @property
    def cluster(self) -> int:
        """Blocks of a cluster; 0 if the kernel has none."""
        return self.entry.cluster

    @property
    def most_threads(self) -> int:
        return self.entry.most_threads or 1024

    def per_processor(self, threads: int, shared: int) -> int:
        """Blocks with `shared` bytes of dynamic shared memory that the current GPU runs on a multiprocessor at a time: 0 or 1."""
        return min(1, current().blocks_per_processor(threads, self.static + shared))

    def clusters(self, threads: int, shared: int, most_blocks: int) -> int:
        """Clusters of at most `most_blocks` blocks that the current GPU runs at a time."""
        return CLUSTERS * self.per_processor(threads, shared) * (self.cluster <= min(current().cluster, most_blocks))

    def resident(self, threads: int, shared: int) -> int:
        """Blocks that run at the same time on all multiprocessors."""
        return CLUSTERS * self.cluster if self.cluster else PROCESSORS * self.per_processor(threads, shared)

    def launch(self, grid: tuple[int, int, int], block: tuple[int, int, int], values: Sequence[bytes], shared: int) -> None:
        """Run the kernel to its end. Raises EmulatedFault."""
        if grid[0] % max(self.cluster, 1) or not 1 <= np.prod(block) <= self.most_threads:
            limit = f"at most {self.most_threads} threads per block, in clusters of {max(self.cluster, 1)} blocks"
            raise EmulatedFault(f"{self.name}: a launch of {grid} blocks of {block} threads; the source allows {limit}")
        if not self.per_processor(int(np.prod(block)), shared):
            most = f"{current().block_bytes} of compute capability {current().capability}"
            raise EmulatedFault(f"{self.name}: {self.static} + {shared} bytes of shared memory are more than the {most}")
        LAUNCHED.add((self.code, self.name))
        places = (ctypes.c_void_p * max(len(values), 1))()
        kept = [ctypes.create_string_buffer(value, max(len(value), 1)) for value in values]
        for number, value in enumerate(kept):
            places[number] = ctypes.addressof(value)
        seed = SEED and SEED * 1_000_003 + next(_launches)
        resident = int(np.prod(grid)) if self.cluster else PROCESSORS
        sizes = [(ctypes.c_uint * 3)(*size) for size in (grid, block)]
        why = _library().run_kernel(ctypes.byref(self.entry), places, *sizes, self.of_module, shared, resident, seed, LIMIT)
        if why:
            raise EmulatedFault(f"{self.name}: {why.decode()}")


class Module:
    """A compiled CUDA source."""

    def __init__(self, code: str, options: Sequence[str]) -> None:
        _library()  # defines symbols that the module needs
        self._code = code
        self._module = ctypes.CDLL(str(compiler.module(code, options)))
        self._module.emulated_static_shared.restype = self._module.emulated_size_of_shared.restype = ctypes.c_ulonglong
        self._static = self._module.emulated_static_shared()

    def kernel(self, name: str) -> Kernel:
        """The kernel of this name. Raises KeyError, or EmulatedFault where NVRTC would not compile it."""
        try:
            entry = _Kernel.in_dll(self._module, f"emulated_{name}")
        except ValueError:
            raise KeyError(name) from None
        parameters = tuple((entry.parameters[k].bytes, entry.parameters[k].kind.decode()) for k in range(entry.num_parameters))
        static = sum(self._module.emulated_size_of_shared(int(number)) for number in entry.shared.split())
        if static > STATIC_BYTES:
            raise EmulatedFault(f"{name}: {static} bytes of static shared memory, where {STATIC_BYTES} are allowed")
        return Kernel(name, entry, parameters, static, self._static, self._code)


@cache
def _library() -> Any:
    library = ctypes.CDLL(str(compiler.machine()), mode=ctypes.RTLD_GLOBAL)
    library.run_kernel.restype = ctypes.c_char_p
    library.run_kernel.argtypes = [
        ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint, ctypes.c_uint,
        ctypes.c_ulonglong, ctypes.c_double,
    ]  # fmt: skip
    return library
