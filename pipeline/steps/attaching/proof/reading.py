"""What the proof compares: the streets of a source, and those of the edge list with places on them, read back."""

from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernels.decimals import places_of
from kernels.graph import Array
from pipeline.errors import ProofFailed
from pipeline.steps.attaching import FEET
from pipeline.store.edges import read_edges
from pipeline.store.facts import EdgeFacts
from pipeline.store.manifest import Folder
from pipeline.store.names import open_names
from pipeline.tables.points import COORDINATES
from pipeline.tables.streets import STREETS


def require(holds: object, reason: str) -> None:
    """Raise ProofFailed with a reason unless something holds."""
    if not holds:
        raise ProofFailed(f"attached: {reason}")


def read(folder: Folder, name: str) -> pa.Table:
    """A file of an edge list."""
    return pq.read_table(folder.path / name, page_checksum_verification=True).combine_chunks()


class Original:
    """The edge list of the source.

    Attributes:
        roads: Whether it has streets with lines; otherwise each is a straight one between a pair of vertices.
        edges (int64 [E]): `src`, `dst` and weights of all edges, the weights as the source has them.
        coordinates: Columns `vertex`, `x` and `y` in their order.
        street_src, street_dst (int64 [C]), weights (int64 [C, 2]): Of streets, -1 where closed, in units of 10^-decimals.
        first (int64 [C + 1]), points (int32 [P, 2]): Their lines.
        table: What else is known of them.
    """

    def __init__(self, folder: Folder) -> None:
        self.folder, self.facts = folder, EdgeFacts.of(folder)
        self.roads = STREETS in folder.manifest.files
        src, dst, weights = read_edges(folder)
        assert weights is not None
        self.edges, self.coordinates = (src, dst, weights), read(folder, COORDINATES)
        self.decimals = places_of(weights) if weights.dtype.kind == "f" else None
        if self.roads:
            self._read_roads()
        else:
            self._pair_up()

    def in_units(self, weights: Array) -> Array:
        """Weights as integers."""
        return weights.astype(np.int64) if self.decimals is None else np.rint(weights * 10.0**self.decimals).astype(np.int64)

    def _read_roads(self) -> None:
        self.table = read(self.folder, STREETS)
        self.street_src, self.street_dst = (self.table[name].to_numpy() for name in ("src", "dst"))
        self.weights = np.stack([self.table[name].fill_null(-1).to_numpy() for name in ("forward", "backward")], axis=1)
        points = self.table["points"].combine_chunks()
        self.first, self.points = points.offsets.to_numpy() // 2, points.values.to_numpy().reshape(-1, 2)

    def _pair_up(self) -> None:
        """Sort edges by their ends; the first of each pair and direction is the lightest."""
        src, dst, weights = self.edges
        order = np.argsort(self.coordinates["vertex"].to_numpy())
        placed = self.coordinates["vertex"].to_numpy()[order]
        rows = np.flatnonzero((src != dst) & np.isin(src, placed) & np.isin(dst, placed))
        low, high, units = np.minimum(src, dst)[rows], np.maximum(src, dst)[rows], self.in_units(weights[rows])
        by = np.lexsort((units, high, low))
        low, high, units, along = low[by], high[by], units[by], (src[rows] < dst[rows])[by]
        new = np.ones(len(low), np.bool_)
        new[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
        pair = np.cumsum(new) - 1
        self.street_src, self.street_dst = low[new], high[new]
        self.weights = np.full((int(new.sum()), 2), -1, np.int64)
        for direction, of in enumerate((along, ~along)):
            chosen = np.flatnonzero(of if self.facts.directed else np.ones(len(low), np.bool_))
            numbers, at = np.unique(pair[chosen], return_index=True)
            self.weights[numbers, direction] = units[chosen[at]]
        ends = np.stack([self.street_src, self.street_dst], axis=1).ravel()
        axes = np.stack([self.coordinates[axis].to_numpy() for axis in "xy"], axis=1)[order]
        self.points = np.rint(axes[np.searchsorted(placed, ends)] * 1e7).astype(np.int32)
        self.first = np.arange(0, len(ends) + 1, 2)


class Attached:
    """The edge list with places on streets.

    Attributes:
        feet: `feet.parquet`.
        edges: `src`, `dst` and weights.
        former: The numbers of the source's vertices here.
        stop_street, stop_offset, stop_vertex (int64 [k]): The new vertices, ascending by street and offset.
    """

    def __init__(self, folder: Folder, before: Original) -> None:
        self.folder, self.facts = folder, EdgeFacts.of(folder)
        self.feet, self.coordinates = read(folder, FEET), read(folder, COORDINATES)
        self.edges = read_edges(folder)
        self._before = before
        names = open_names(folder), open_names(before.folder)
        self._numbers = None if names[0] is None or names[1] is None else names[0].find(names[1].array())
        require(self._numbers is None or (np.diff(self._numbers) > 0).all(), "a former name is missing")
        street, offset, vertex = (self.feet[name].to_numpy() for name in ("street", "offset", "vertex"))
        known = self.former(before.coordinates["vertex"].to_numpy())
        self.is_new = ~np.isin(vertex, known) & ~np.isin(vertex, self.former(before.edges[0]))
        new = np.flatnonzero(self.is_new)
        new = new[np.lexsort((vertex[new], offset[new], street[new]))]
        columns = np.stack([street[new], offset[new], vertex[new]])
        differs = np.ones(len(new), np.bool_)
        differs[1:] = (np.diff(columns) != 0).any(axis=0)
        self.stop_street, self.stop_offset, self.stop_vertex = columns[:, differs]
        require(len(np.unique(self.stop_vertex)) == len(self.stop_vertex), "two feet have one vertex")

    def former(self, vertices: Array) -> Array:
        """The numbers here of vertices of the source."""
        return vertices if self._numbers is None else self._numbers[vertices]

    @cached_property
    def streets(self) -> pa.Table:
        """The streets with lines."""
        return read(self.folder, STREETS)
