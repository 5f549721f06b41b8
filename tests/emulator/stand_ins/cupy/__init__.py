"""The part of CuPy that this project uses, on the emulated GPU (tests/emulator)."""

from cupy import _functions, _memory
from cupy import cuda as cuda
from cupy import random as random
from cupy._array import ndarray as ndarray
from cupy._functions import UFUNCS as UFUNCS
from cupy._functions import append as append
from cupy._functions import array as array
from cupy._functions import asarray as asarray
from cupy._functions import ascontiguousarray as ascontiguousarray
from cupy._functions import asnumpy as asnumpy
from cupy._functions import copyto as copyto
from cupy._functions import empty as empty
from cupy._functions import empty_like as empty_like
from cupy._functions import full_like as full_like
from cupy._functions import get_array_module as get_array_module
from cupy._functions import lexsort as lexsort
from cupy._functions import ones_like as ones_like
from cupy._functions import searchsorted as searchsorted
from cupy._functions import unique as unique
from cupy._functions import zeros_like as zeros_like
from cupy._raw import ElementwiseKernel as ElementwiseKernel
from cupy._raw import RawKernel as RawKernel
from cupy._raw import RawModule as RawModule

__version__ = "14.2.0+emulated"
_functions.define(globals())
abs = globals()["absolute"]  # as in NumPy


def get_default_memory_pool() -> _memory.MemoryPool:
    return _memory.default_pool


def get_default_pinned_memory_pool() -> _memory.PinnedMemoryPool:
    return _memory.default_pinned_pool
