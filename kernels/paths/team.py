"""Launcher of long_paths.cu: one team of blocks shortens lengths from any rows on, as often as the caller wants."""

from functools import cache
from typing import Any

import cupy
import numpy as np

from kernels.gpu.deep import NO_LIMIT, require_shallow
from kernels.gpu.devices import spare_bytes
from kernels.gpu.loader import kernel_of, launch, pointer, to_host
from kernels.gpu.teams import team_kernel
from kernels.graph import NO_ROW, Array, Csr
from kernels.paths.constants import TEAM_CONTROL_WORDS, THREADS
from kernels.paths.lengths import as_length, far_of, length_type
from kernels.paths.predecessors_cuda import types_of

_SOURCE = "paths/long_paths.cu"
_UNBOUNDED, _BOUNDED = (_SOURCE, "shorten"), ("paths/sharded/long_paths.cu", "shorten_below")
MOST_ROWS = 1 << 17  # rows to relax beyond which all blocks of a GPU are faster than a team
_LISTS = 4  # of a block
_LIST_BYTES = (49152, 24576)  # of a list, as large as fits
_LEAST_WINDOW, _MOST_WINDOW = 4.0, 32.0  # in mean weights
_FEW, _MANY = np.int64(2048), np.int64(8192)  # active rows: with fewer the window widens, with more it narrows
_ASIDE, _NEAREST, _DEEP = 2, 3, 4  # words of the control


class Team:
    """The arcs of N rows in Quads (long_paths.cu), and lengths of paths along them.

    Attributes:
        lengths (uint32 or uint64 [N]): Encoded as in lengths.cuh; that of no path, except for the source.

    Args:
        out: Every arc weighs 1 if there are no weights.
        sums: Type in which weights are summed: int32, int64 or float64.
        mean: Mean weight.
        quads: From `quads_of`.
        source: Row to start from; NO_ROW if `start` gives the rows.
    """

    def __init__(self, out: Csr, sums: np.dtype[Any], mean: float, quads: int, source: int = NO_ROW):
        num_rows, self._sums, self._types = len(out.offsets) - 1, sums, types_of(out, sums)
        row = self._types["ROW"]
        self._quads = cupy.empty((quads, _quad_bytes(self._types)), np.uint8)
        self.lengths: Array = cupy.empty(num_rows, length_type(sums))
        self._pile: Array = cupy.empty(num_rows, row)
        self._piled, self._control = cupy.empty(-(-num_rows // 32), np.uint32), cupy.zeros(TEAM_CONTROL_WORDS, np.uint64)
        self._aside: Any = None
        self._is_aside: Any = None
        self._windows = tuple(as_length(sums, factor * mean) for factor in (_LEAST_WINDOW, _MOST_WINDOW))
        self._launch("prepare", num_rows, out.offsets, out.indices, pointer(out.weights), np.int64(num_rows), np.int64(source),
                     self._quads, self.lengths, self._pile, self._piled, self._control)  # fmt: skip

    def start(self, rows: Array) -> None:
        """Set the rows, each once, from which `shorten` continues with their lengths."""
        self._launch("pile_up", len(rows), rows, np.int64(len(rows)), self._pile, self._piled, self._control)

    def shorten(self, bound: int | None = None, most: int = NO_LIMIT, most_thin: int = NO_LIMIT) -> None:
        """Lower the lengths to the smallest sums from the rows that were set; rows at `bound` or beyond are put aside.

        Stops as soon as more than `most` rows are to be relaxed, and gives up after more than `most_thin` thin steps. Such a team
        cannot go on.
        """
        limits = _FEW, _MANY, np.int64(most), np.int64(most_thin)
        search = self._quads, self.lengths, self._pile, self._piled, *self._windows, *limits, self._control
        if bound is None:
            self._take_steps(_UNBOUNDED, *search)
            return
        if self._aside is None:
            self._aside, self._is_aside = cupy.empty_like(self._pile), cupy.zeros_like(self._piled)
        self._take_steps(_BOUNDED, *search, length_type(self._sums)(bound), self._aside, self._is_aside)

    def stopped_at(self) -> int | None:
        """A length that no row is nearer than which is still to be relaxed; None if the team did not stop early.

        Raises:
            Deep: The team gave up.
        """
        control = to_host(self._control)
        require_shallow(control[_DEEP])
        nearest = int(control[_NEAREST])
        return None if nearest == far_of(self._sums) else nearest

    def take_aside(self) -> Array:
        """Return the rows that were put aside, each once, and forget them."""
        if self._aside is None:
            return self._pile[:0]
        rows: Array = self._aside[: int(self._control[_ASIDE])].copy()
        self._control[_ASIDE] = 0
        self._is_aside.fill(0)
        return rows

    def _take_steps(self, of: tuple[str, str], *arguments: Any) -> None:
        kernel, sizes = _steps(*of, cupy.cuda.Device().id, **self._types)
        kernel((sizes["TEAM_BLOCKS"],), (THREADS,), arguments, shared_mem=_LISTS * sizes["LIST_BYTES"])

    def _launch(self, name: str, size: int, *arguments: Any) -> None:
        _, sizes = _steps(*_UNBOUNDED, cupy.cuda.Device().id, **self._types)
        launch(_SOURCE, name, THREADS, size, *arguments, **self._types, **sizes)


@cache
def _steps(source: str, name: str, device: int, **types: np.dtype[Any]) -> tuple[Any, dict[str, int]]:
    """A kernel that takes steps, and the sizes for which it was compiled."""
    list_bytes = next(size for size in _LIST_BYTES if _LISTS * size <= spare_bytes(device))
    shared, macros = _LISTS * list_bytes, {**types, "LIST_BYTES": list_bytes}
    team = team_kernel(source, name, THREADS, device, shared, **macros)
    kernel = team.kernel if team else kernel_of(source, name, device, shared, TEAM_BLOCKS=1, **macros)
    return kernel, {"TEAM_BLOCKS": team.blocks if team else 1, "LIST_BYTES": list_bytes}


def quads_of(out: Csr) -> int:
    """Number of Quads that hold the arcs."""
    degrees = cupy.diff(out.offsets)
    chained = degrees[degrees > 4]
    return len(degrees) + int(((chained - 2) // 3).sum())


def _quad_bytes(types: dict[str, np.dtype[Any]]) -> int:
    weight_bytes = 4 if types["SUM"] == np.int32 else types["WEIGHT"].itemsize
    return -(-4 * (types["ROW"].itemsize + weight_bytes) // 16) * 16
