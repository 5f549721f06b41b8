"""A generated graph of the benchmark as arrays, and what an output has to equal."""

import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from scipy.sparse import csr_array

from kernels.graph import Array
from pipeline.graphalytics.properties import GraphProperties, read_properties


@dataclass(frozen=True)
class Input:
    """An undirected graph between vertices 0..V-1, which ascend by their ids."""

    properties: GraphProperties
    ids: Array  # int64 [V]
    # int32 [E], each edge once, and int64 weights or None
    src: Array
    dst: Array
    weights: Array | None
    seconds: float  # of reading

    @classmethod
    def read(cls, folder: Path) -> "Input":
        """Read the folder that `graphmill generate` wrote."""
        started, properties = time.perf_counter(), read_properties(folder)
        ids = pq.read_table(properties.vertices)["vertex"].to_numpy()
        table = pq.read_table(properties.edges)
        src, dst = (np.searchsorted(ids, table[name].to_numpy()).astype(np.int32) for name in ("src", "dst"))
        weights = table["weight"].to_numpy() if "weight" in table.column_names else None
        return cls(properties, ids, src, dst, weights, time.perf_counter() - started)

    @property
    def source(self) -> int:
        """The vertex from which searches start."""
        return int(np.searchsorted(self.ids, self.properties.algorithms["bfs"]["source-vertex"]))

    def sides(self) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """Offsets, int64, and neighbours, int32, of the edges as stored, by their sources and by their targets."""
        return _csr(self.src, self.dst, len(self.ids)), _csr(self.dst, self.src, len(self.ids))

    def arcs(self) -> tuple[Array, Array]:
        """Offsets, int64, and neighbours, int32, of the edges in both directions."""
        return _csr(np.append(self.src, self.dst), np.append(self.dst, self.src), len(self.ids))

    @cached_property
    def ranks(self) -> Array:
        """PageRank by the benchmark's definition with SciPy, float64 [V]; every vertex has an edge."""
        given, count = self.properties.algorithms["pr"], len(self.ids)
        offsets, neighbours = self.arcs()
        matrix = csr_array((np.ones(len(neighbours)), neighbours, offsets), (count, count))
        degrees, damping = np.diff(offsets), given["damping-factor"]
        scores = np.full(count, 1 / count)
        for _ in range(given["num-iterations"]):
            scores = (1 - damping) / count + damping * (matrix @ (scores / degrees))
        return scores


def _csr(near: Array, far: Array, count: int) -> tuple[Array, Array]:
    offsets = np.zeros(count + 1, np.int64)
    offsets[1:] = np.bincount(near, minlength=count).cumsum()
    keys = near.astype(np.int64) << 32 | far
    keys.sort()
    neighbours: Any = (keys & 0xFFFFFFFF).astype(np.int32)
    return offsets, neighbours
