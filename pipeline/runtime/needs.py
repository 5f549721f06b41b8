"""The least memory of a graph, for the arrays of its edges and arcs. A run without it is refused early."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import TooLarge
from pipeline.runtime.backend import Backend
from pipeline.runtime.memory import free_memory
from pipeline.units import size

_PER_VERTEX = 24  # bytes of a stored vertex: its id and its two degrees
_KEY = 8  # bytes
_STORED = 0.5  # of the arcs, at least: the others may be parallel arcs, which are dropped


@dataclass(frozen=True)
class Shape:
    """Sizes of a graph that determine the bytes of its arrays."""

    edges: int
    vertices: int
    weight: int  # bytes of a weight; 0 without weights
    symmetric: bool  # whether each edge is two arcs, and in-arcs are those that leave

    @property
    def arcs(self) -> int:
        """Number of arcs, if none is dropped."""
        return self.edges * (2 if self.symmetric else 1)

    @property
    def _arc(self) -> int:
        return self.weight + (4 if self.vertices < 2**31 else 8)

    def columns(self, backend: Backend) -> int:
        """Bytes of the edge list in memory."""
        return self.edges * (self.weight + (16 if backend == "cpu" or self.vertices >= 2**31 else 8))

    def keys(self) -> int:
        """Bytes of the keys by which the layout sorts the arcs, while it has the edge list in memory."""
        return self.arcs * _KEY

    def disk(self) -> int:
        """Bytes of the stored graph."""
        directions = 1 if self.symmetric else 2
        rows = _PER_VERTEX + (4 if self.vertices < 2**31 else 8) + 8 * directions
        return self.vertices * rows + directions * self.arcs * self._arc


def free_disk(folder: Path) -> int:
    """Bytes that this user may still write to the file system of a folder, which need not exist."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(os.path.realpath(folder)).free


def require_space(shape: Shape, backend: Backend, folder: Path, held: bool = False, share: float = 1.0) -> None:
    """Raise TooLarge unless a graph's edges fit into memory, and the stored graph onto the disk.

    Args:
        folder: Where the graph will be stored.
        held: Whether the edge list is in memory already.
        share: How much of the figures is certain, if the numbers of edges and vertices are estimates.
    """
    memory = shape.keys() + (0 if held else shape.columns(backend))
    checked = (
        ("memory", memory, free_memory(backend), "on the GPU" if backend == "gpu" else "on this machine"),
        ("disk", shape.disk() * _STORED, free_disk(folder), f"at {folder}"),
    )
    for what, needed, free, where in checked:
        if needed * share > free:
            edges = f"{'' if share == 1 else 'about '}{shape.edges:,} edges"
            more = "more " if held else ""
            raise TooLarge(
                f"a graph of {edges} takes at least {size(needed * share)} {more}of {what}, and {size(free)} are free {where}"
            )
