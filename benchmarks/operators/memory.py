"""Table 3 of the document: what a GPU's memory gives for patterns of access, inside and outside of its second-level cache."""

from collections.abc import Iterator

import cupy as cp
import numpy as np

from benchmarks.one_gpu.timing import milliseconds
from benchmarks.operators.clock import Times
from benchmarks.operators.tables import OperatorRow

_SOURCE = r"""
__device__ unsigned long long mixed(unsigned long long i) {
    i = (i ^ (i >> 31)) * 0xbf58476d1ce4e5b9ull;
    i = (i ^ (i >> 29)) * 0x94d049bb133111ebull;
    return i ^ (i >> 32);
}
extern "C" __global__ void __launch_bounds__(256) access(
    VALUE* values, VALUE* copy, unsigned long long mask, unsigned long long count) {
    VALUE sum = 0;
    const unsigned long long threads = (unsigned long long)gridDim.x * blockDim.x;
    const unsigned long long own = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x, share = count / threads;
#pragma unroll 8
    for (unsigned long long k = 0; k < share; ++k) {
        const unsigned long long i = k * threads + own;
        const unsigned long long place = (PLACE) & mask;
        ACCESS;
    }
    if (sum == (VALUE)0x1234567) {
        copy[0] = sum;
    }
}
"""
_READ, _WRITE, _COPY = "sum += values[place]", "values[place] = (VALUE)i", "copy[place] = values[place]"
_ADD, _LEAST = "atomicAdd(values + place, (VALUE)1)", "atomicMin(values + place, (VALUE)(mixed(i) >> 34))"
_IN, _OUT = 23, 31  # log2 of the bytes of an array that is inside, and of one that is outside of the cache
# what, place, access, bytes of a value, log2 of bytes, share of a P100's peak in the document, values moved by an access
_PATTERNS = (
    ("copy of 4 bytes", "i", _COPY, 4, _OUT, 0.74, 2),
    ("sequential reads of 4 bytes", "i", _READ, 4, _OUT, None, 1),
    ("sequential reads of 4 bytes, in the cache", "i", _READ, 4, _IN, None, 1),
    *((f"reads of 4 bytes, stride {by}", f"i * {by}", _READ, 4, _OUT, share, 1)
      for by, share in ((2, 0.25), (4, 0.12), (8, 0.069), (128, 0.028))),
    ("reads of 4 bytes, a list for each thread", "own * share + k", _READ, 4, _OUT, 0.044, 1),
    *((f"{what} of {size} bytes{', in the cache' if log == _IN else ''}", "mixed(i)", access, size, log, share, 1)
      for what, access, shares in (("gather", _READ, (0.65, 0.085, 0.89, 0.12)), ("scatter", _WRITE, (None,) * 4),
                                   ("atomicAdd", _ADD, (None,) * 4), ("atomicMin", _LEAST, (None,) * 4))
      for (size, log), share in zip(((4, _IN), (4, _OUT), (8, _IN), (8, _OUT)), shares, strict=True)),
)  # fmt: skip


def patterns() -> Iterator[OperatorRow]:
    """Every pattern; an atomic operation counts as one access of its value."""
    blocks = 16 * cp.cuda.Device().attributes["MultiProcessorCount"]
    for what, place, access, size, log, share, moved in _PATTERNS:
        dtype, name = {4: (np.uint32, "unsigned int"), 8: (np.uint64, "unsigned long long")}[size]
        words, count = (1 << log) // size, 1 << 28
        text = f"#define VALUE {name}\n#define PLACE {place}\n#define ACCESS {access}\n{_SOURCE}"
        kernel = cp.RawKernel(text, "access")
        values = cp.zeros(words, dtype)
        copy = cp.zeros(words if moved == 2 else 1, dtype)
        arguments = values, copy, np.uint64(words - 1), np.uint64(count)
        times = Times.of(milliseconds(lambda: kernel((blocks,), (256,), arguments), repeats=11))  # noqa: B023  (called at once)
        del values, copy
        threads = 256 * blocks
        done = count // threads * threads
        yield OperatorRow(3, f"{(1 << log) >> 20:,} MiB", what, times, float(moved * size * done), document=share)
        cp.get_default_memory_pool().free_all_blocks()
