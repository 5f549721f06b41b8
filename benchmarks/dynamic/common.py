"""What the experiments share: the graphs, the clock, and a row of the table."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from kernels.gpu.devices import obstacle
from kernels.graph import Array, Csr, Graph


class DynamicRow(NamedTuple):
    """A line of the table."""

    experiment: str
    graph: str
    what: str
    value: float
    unit: str


def on_gpu() -> bool:
    """Whether there is a GPU to measure."""
    return obstacle() is None


def graphs(scale: int, side: int) -> dict[str, Callable[[], Graph]]:
    """An R-MAT graph and a road-like grid, symmetric, rows in the order of ids; with CuPy's arrays if there is a GPU."""
    names = f"R-MAT {scale}", f"grid {side} x {side}"
    if not on_gpu():
        from benchmarks.graphs import grid, rmat

        return dict(zip(names, (lambda: rmat(scale), lambda: grid(side)), strict=True))
    from benchmarks.one_gpu.graphs import rmat as rmat_there
    from benchmarks.one_gpu.graphs import road_like_grid

    makers = (lambda: rmat_there(scale), lambda: road_like_grid(side))
    return {name: lambda make=make: replace(make(), order="source").graph() for name, make in zip(names, makers, strict=True)}  # type: ignore[misc]


def wait() -> None:
    """Wait until the device has completed all work."""
    if on_gpu():
        import cupy

        cupy.cuda.Device().synchronize()


def milliseconds(call: Callable[[], Any], repeats: int = 3, warm_up: int = 1) -> float:
    """Mean wall time of a call."""
    for _ in range(warm_up):
        call()
    wait()
    start = time.perf_counter()
    for _ in range(repeats):
        call()
        wait()
    return 1000 * (time.perf_counter() - start) / repeats


def without_weights(csr: Csr) -> Csr:
    """The same arcs."""
    return Csr(csr.offsets, csr.indices, None)


def require_same(found: Any, expected: Any) -> None:
    """Raise AssertionError unless two answers of a search are equal."""
    for one, other in ((found.distance, expected.distance), (found.predecessor, expected.predecessor)):
        if not bool((one[: len(other)] == other).all()):
            raise AssertionError(f"{int((one[: len(other)] != other).sum())} of {len(other)} entries differ")


def random_rows(num_rows: int, number: int, like: Array) -> Array:
    """Rows drawn uniformly: int32, the same on every backend."""
    return np.asarray(np.random.default_rng(number).integers(0, num_rows, number, np.int32), like=like)
