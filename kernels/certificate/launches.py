"""Launches of the certificates' kernels, which decide whether an answer holds; the CPU finds the reason if it does not."""

from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

from kernels.certificate.constants import THREADS
from kernels.certificate.rules import Broken, require_form
from kernels.gpu import loader as cuda
from kernels.gpu.deep import Deep, aside, host_copy
from kernels.gpu.transfer import on_host
from kernels.graph import Array, Csr, Graph

_REFUSED = "the GPU refuses what holds on the CPU"


def launch(source: str, name: str, work: int, arguments: tuple[Any, ...], **types: Any) -> None:
    """Launch a kernel of `kernels/SOURCE` with a thread for each of `work` items, or as many as the GPU holds."""
    cuda.launch(source, name, THREADS, work, *arguments, **types)


def require_device_form(name: str, array: Any, length: int, dtype: np.dtype[Any]) -> Array:
    """`array`, contiguous, or Broken unless it is a CuPy array of this length and type."""
    contiguous: Array = cupy.ascontiguousarray(require_form(name, array, length, dtype, cupy.ndarray))
    return contiguous


def require_held(holds: Callable[..., bool], check: Callable[..., None], graph: Graph, answer: Any, *more: Any) -> None:
    """Raise Broken unless `holds(graph, answer, *more)` on the GPU, for the reason that `check` gives for copies on the host.

    If `holds` raises Deep, `check` decides.
    """
    reason, deep = _REFUSED, False
    try:
        if holds(graph, answer, *more):
            return
    except Deep:  # which has the arrays of `holds` until the block ends
        deep = True
    except Broken as malformed:
        reason = str(malformed)
    if deep:
        host, there = host_copy(graph), on_host(answer)
        with aside():
            check(host, there, *more)
        return
    check(on_host(graph), on_host(answer), *more)
    raise Broken(reason)


def work_of(csr: Csr) -> int:
    """Items of a pass over rows and arcs."""
    return len(csr.offsets) + len(csr.indices)
