"""An edge list in the host's memory that a GPU lays out: its blocks are copied to the GPU, each time that they are needed."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernels.cpu.parallel import over_items
from kernels.gpu.loader import free_bytes
from kernels.layout.rules import Edges, Spill

_MOST = 1 << 24  # edges of a block
_PART = 8  # blocks that the free memory of a GPU would hold


@dataclass(frozen=True)
class StreamedEdges:
    """Edges of NumPy arrays, read in blocks of CuPy arrays: `kernels.layout.rules.EdgeSource`."""

    there: Edges
    turned: bool = False  # whether each edge is read from its head to its tail

    @property
    def count(self) -> int:
        """Number of edges."""
        return self.there.count

    @property
    def weight(self) -> np.dtype[Any] | None:
        """The type of the weights; None without any."""
        return self.there.weight

    @property
    def spill(self) -> Spill | None:
        """None: the host's memory holds the arcs."""
        return None

    def span(self) -> range:
        """The range from the smallest id to the largest."""
        return self.there.span()

    def blocks(self) -> Iterator[Edges]:
        """All edges in their order; the GPU has two blocks at a time, in a quarter of the memory that is free at first."""
        import cupy

        from kernels.distributed.gpu.memory import STAGED_BYTES, Staging

        there, staging = self.there, Staging(cupy.cuda.Device())
        columns = [there.dst, there.src] if self.turned else [there.src, there.dst]
        columns += [] if there.weights is None else [there.weights]
        of_edge = sum(column.itemsize for column in columns)
        length = min(_MOST, max(free_bytes() // (_PART * of_edge), 1))
        for first in range(0, there.count, length):
            taken = [column[first : first + length] for column in columns]
            block = [cupy.empty(len(part), part.dtype) for part in taken]
            pieces = [
                (part[begin : begin + step], to[begin : begin + step])
                for part, to in zip(taken, block, strict=True)
                for step in [STAGED_BYTES // part.itemsize]
                for begin in range(0, len(part), step)
            ]
            over_items(pieces, lambda piece: staging.copy(*piece))
            yield Edges(block[0], block[1], block[2] if there.weights is not None else None)

    def none(self) -> Edges:
        """No edges, in the host's memory."""
        return self.there.none()

    def ends(self) -> "StreamedEdges":
        """The same without weights."""
        return replace(self, there=replace(self.there, weights=None))

    def reversed(self) -> "StreamedEdges":
        """The same, each edge from its head to its tail."""
        return replace(self, turned=not self.turned)
