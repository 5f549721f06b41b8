"""Modules, kernels and launches of the emulated machine."""

from __future__ import annotations

import ctypes
import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from tests.emulator.machine import compiler

SEED = int(os.environ.get("EMULATED_SEED", "0"))
ARCHITECTURE = int(os.environ.get("EMULATED_ARCHITECTURE", "80"))
PROCESSORS = 3  # not a power of two, to find wrong assumptions; few, because time grows with the number of threads
CLUSTERS = 1  # that run at the same time
LIMIT = 100.0  # CPU seconds after which a launch is given up
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
    )


class EmulatedFault(RuntimeError):
    """A kernel did what CUDA forbids, or did not end."""


@dataclass(frozen=True)
class Kernel:
    """A kernel of a module; `parameters` are sizes in bytes and NumPy kinds, `static` the bytes of static shared memory."""

    name: str
    entry: _Kernel
    parameters: tuple[tuple[int, str], ...]
    static: int

    @property
    def cluster(self) -> int:
        """Blocks of a cluster; 0 if the kernel has none."""
        return self.entry.cluster

    @property
    def most_threads(self) -> int:
        return self.entry.most_threads or 1024

    @property
    def resident(self) -> int:
        """Blocks that run at the same time on all multiprocessors."""
        return CLUSTERS * self.cluster if self.cluster else PROCESSORS

    def launch(self, grid: tuple[int, int, int], block: tuple[int, int, int], values: Sequence[bytes], shared: int) -> None:
        """Run the kernel to its end. Raises EmulatedFault."""
        if grid[0] % max(self.cluster, 1) or not 1 <= np.prod(block) <= self.most_threads:
            limit = f"at most {self.most_threads} threads per block, in clusters of {max(self.cluster, 1)} blocks"
            raise EmulatedFault(f"{self.name}: a launch of {grid} blocks of {block} threads; the source allows {limit}")
        places = (ctypes.c_void_p * max(len(values), 1))()
        kept = [ctypes.create_string_buffer(value, max(len(value), 1)) for value in values]
        for number, value in enumerate(kept):
            places[number] = ctypes.addressof(value)
        seed = SEED and SEED * 1_000_003 + next(_launches)
        resident = int(np.prod(grid)) if self.cluster else self.resident
        sizes = [(ctypes.c_uint * 3)(*size) for size in (grid, block)]
        why = _library().run_kernel(ctypes.byref(self.entry), places, *sizes, self.static, shared, resident, seed, LIMIT)
        if why:
            raise EmulatedFault(f"{self.name}: {why.decode()}")


class Module:
    """A compiled CUDA source."""

    def __init__(self, code: str, options: Sequence[str]) -> None:
        _library()  # defines symbols that the module needs
        self._module = ctypes.CDLL(str(compiler.module(code, options, ARCHITECTURE)))
        self._module.emulated_static_shared.restype = ctypes.c_ulonglong
        self._static = self._module.emulated_static_shared()

    def kernel(self, name: str) -> Kernel:
        """The kernel of this name. Raises KeyError."""
        try:
            entry = _Kernel.in_dll(self._module, f"emulated_{name}")
        except ValueError:
            raise KeyError(name) from None
        parameters = tuple((entry.parameters[k].bytes, entry.parameters[k].kind.decode()) for k in range(entry.num_parameters))
        return Kernel(name, entry, parameters, self._static)


@cache
def _library() -> Any:
    library = ctypes.CDLL(str(compiler.machine()), mode=ctypes.RTLD_GLOBAL)
    library.run_kernel.restype = ctypes.c_char_p
    library.run_kernel.argtypes = [
        ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint, ctypes.c_uint,
        ctypes.c_ulonglong, ctypes.c_double,
    ]  # fmt: skip
    return library
