"""Graphs that the memory of a GPU does not hold: it makes their rows range by range, and reads arcs from the host's memory.

These arcs are pinned, and pass the bus whenever a kernel reads them. All else of a graph is on the GPU.
"""

import logging
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from kernels.arrays import ArcMemory
from kernels.gpu.loader import total_bytes
from pipeline.runtime.backend import Backend, free_pools
from pipeline.runtime.memory import Shape, free_memory
from pipeline.units import size

log = logging.getLogger(__name__)
Made = TypeVar("Made")
_OF_ARCS = 4  # bytes that a GPU has free for each byte of arcs that a rank holds there, for the arrays of its kernels
_OF_WHOLE = 2.5  # bytes of a GPU's whole memory for each byte of a graph's arcs: what its kernels take at most (docs/gpu.md)
_OF_VERTEX, _OFFSET = 16, 8  # bytes: id, row by id and position; an offset in each direction
_ENDS = 16  # bytes of the ids of a dropped edge
_PLAN = 4  # bytes of an arc, at most, that PageRank has in pinned memory beside arcs that are there


class PlacedArcs(NamedTuple):
    """Where arcs are, and why."""

    memory: ArcMemory | None  # None: neither holds them, so the CPU computes, on maps of the stored files
    bytes: int  # of the arcs
    free: int  # bytes of the GPU, before anything of the graph was there
    pinned: int  # bytes that they take of the host's memory if they are there, at most


def lays_out(backend: Backend, needed: int, share: float = 1.0) -> Backend:
    """Which backend lays out a graph, which takes `needed` bytes of a GPU's memory, a `share` of them for certain."""
    return backend if backend == "cpu" or share * needed <= free_memory("gpu") else "cpu"


def layout_on_host(shape: Shape, columns: int, keep_parallel: bool) -> int:
    """Bytes of the host's memory that a layout takes at most with arcs there, which cannot be moved to the disk.

    Beside the edges, of `columns` bytes, these are of each edge its arcs or, if it is dropped because of a parallel one, what is
    listed of it: twice, because the lists of all ranges are joined.
    """
    return columns + max(shape.arrays, 0 if keep_parallel else 2 * shape.edges * (_ENDS + shape.weight))


def on_gpu_or_cpu(what: str, needed: int, on_host: int, make: Callable[[Backend, ArcMemory], Made]) -> Made:
    """What `make` returns for the GPU with all arcs there; if it has less memory than is asked for, with arcs on the host.

    If that is not possible either, `make` returns it for the CPU. The log says `what` is done otherwise than on the GPU, and why.

    Args:
        needed, on_host: Bytes that the first takes of the GPU's memory, and the second of the host's.
    """
    if needed <= (free := free_memory("gpu")):
        try:
            return make("gpu", "device")
        except MemoryError as error:  # CuPy's, or of pinned memory
            why = f": {error}"  # not the error, which holds arrays
    else:
        why = f", because it takes {size(needed)} of the GPU's memory, and {size(free)} are free"
    free_pools()
    if on_host <= free_memory():
        log.info("%s in ranges of rows%s", what, why)
        try:
            return make("gpu", "host")
        except MemoryError as error:
            why = f": {error}"
        free_pools()
    log.warning("%s on the CPU%s", what, why)
    return make("cpu", "device")


ON_GPU = PlacedArcs("device", 0, 0, 0)  # arcs that are there, or of which nothing is to be decided


def held_by_gpu(arcs: int, free: int, times: float = _OF_ARCS) -> bool:
    """Whether a GPU with `free` bytes has memory for arcs of so many bytes, and for its kernels."""
    return times * arcs < free


def beside_arcs(vertices: int, directions: int) -> int:
    """Bytes of a GPU's memory that a graph takes beside its arcs, at least."""
    return vertices * (_OF_VERTEX + _OFFSET * directions)


def pinned_bytes(arcs: int, number: int) -> int:
    """Bytes that a number of arcs of so many bytes together take of the host's memory where a GPU reads them, at most."""
    return arcs + _PLAN * number


def place(number: int, of_each: int, pinned_already: int = 0) -> PlacedArcs:
    """Choose the memory for a number of stored arcs, in one direction or both, of so many bytes each.

    By the whole memory of the GPU, or its limit, so that the choice is the same in the next run; `pinned_already` bytes of the
    arcs are in the host's memory.
    """
    needed = number * of_each
    if held_by_gpu(needed, total_bytes(), _OF_WHOLE):
        return ON_GPU
    import cupy  # noqa: F401  (from here on, what its context takes is not free)

    pinned = pinned_bytes(needed, number)
    return PlacedArcs("host" if pinned - pinned_already <= free_memory() else None, needed, free_memory("gpu"), pinned)
