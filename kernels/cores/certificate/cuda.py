"""The certificate of core numbers on CuPy arrays (removal.cu)."""

from typing import Any, NamedTuple

import cupy
import numpy as np

from kernels.certificate.launches import require_device_form, require_held
from kernels.cores import Cores
from kernels.cores.certificate import cpu
from kernels.cores.constants import THREADS
from kernels.gpu.deep import NO_LIMIT, most_rounds, require_shallow
from kernels.gpu.loader import launch, pointer
from kernels.graph import OFFSET, Array, Csr, Graph

_SOURCE = "cores/certificate/removal.cu"
_DEEP = 2  # 64-bit word of the control


class DeviceSides(NamedTuple):
    """As `cpu.ArcSides`, in the order of the kernels' arguments."""

    out: Array
    heads: Array
    into: Any
    tails: Any
    positions: Array


def check(graph: Graph, answer: Cores) -> None:
    """As `cpu.check`."""
    require_held(_holds, cpu.check, graph, answer)


def _holds(graph: Graph, answer: Cores) -> bool:
    core = require_device_form("core", answer.core, graph.num_vertices, OFFSET)
    sides = sides_of(graph.out, graph.into, graph.positions)
    left = supports(sides, core, graph.num_vertices)
    if (left < core).any():
        return False
    removed = cupy.zeros(graph.num_vertices, np.bool_)
    remove(sides, core, left, removed, cupy.empty(0, OFFSET), most_rounds(graph.out))
    return bool(removed.all())


def sides_of(out: Csr, into: Csr, positions: Array) -> DeviceSides:
    """As `cpu.sides_of`."""
    if into is out:
        return DeviceSides(out.offsets, out.indices, pointer(None), pointer(None), positions)
    return DeviceSides(out.offsets, out.indices, into.offsets, into.indices, positions)


def supports(sides: DeviceSides, core: Array, num_own: int) -> Array:
    """As `cpu.supports`."""
    counts: Array = cupy.empty(num_own, OFFSET)
    launch(_SOURCE, "count_supports", THREADS, 32 * num_own, *sides, core, np.int64(num_own), counts, ROW=sides.positions.dtype)
    return counts


def remove(sides: DeviceSides, core: Array, left: Array, removed: Array, debts: Array, most_thin: int = NO_LIMIT) -> None:
    """As `cpu.remove`. Raises Deep."""
    num_own, row = len(left), sides.positions.dtype
    control = cupy.zeros(3, np.uint64)
    state = left, removed, debts, cupy.empty(num_own, row), np.int64(most_thin), control
    launch(_SOURCE, "remove_rows", THREADS, 32 * num_own, *sides, core, np.int64(num_own), *state, ROW=row)
    if most_thin < num_own:
        require_shallow(control[_DEEP])
