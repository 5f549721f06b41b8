"""A generated graph of the benchmark as arrays, and what an output has to equal."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from kernels.gpu.loader import to_host
from kernels.graph import Array
from pipeline.graphalytics.properties import GraphProperties, read_properties

_BLOCK = 1 << 26  # edges that are summed at a time


@dataclass(frozen=True)
class BenchmarkGraph:
    """An undirected graph between vertices 0..V-1, which ascend by their ids."""

    properties: GraphProperties
    ids: Array  # int64 [V]
    # int32 [E], each edge once, and int64 weights or None
    src: Array
    dst: Array
    weights: Array | None
    seconds: float  # of reading

    @classmethod
    def read(cls, folder: Path) -> "BenchmarkGraph":
        """Read the folder that `graphmill generate` wrote."""
        started, properties = time.perf_counter(), read_properties(folder)
        ids = pq.read_table(properties.vertices)["vertex"].to_numpy()
        table = pq.read_table(properties.edges)
        vertices = np.empty(int(ids[-1]) + 1, np.int32)
        vertices[ids] = np.arange(len(ids), dtype=np.int32)
        src, dst = (vertices[table[name].to_numpy()] for name in ("src", "dst"))
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

    def ranks(self, arrays: Any = np) -> Array:
        """PageRank by the benchmark's definition, float64 [V], by `arrays`: NumPy or CuPy. Every vertex has an edge."""
        given, count = self.properties.algorithms["pr"], len(self.ids)
        damping = given["damping-factor"]

        def summed(share: Array | None) -> Array:
            """Of each vertex the sum over its neighbours; None: their number."""
            sums = arrays.zeros(count)
            for begin in range(0, len(self.src), _BLOCK):
                src, dst = (arrays.asarray(ends[begin : begin + _BLOCK]) for ends in (self.src, self.dst))
                for near, far in ((src, dst), (dst, src)):
                    sums += arrays.bincount(near, None if share is None else share[far], count)
            return sums

        scores, degrees = arrays.full(count, 1 / count), summed(None)
        for _ in range(given["num-iterations"]):
            scores = (1 - damping) / count + damping * summed(scores / degrees)
        on_host: Array = to_host(scores)
        return on_host


def _csr(near: Array, far: Array, count: int) -> tuple[Array, Array]:
    offsets = np.zeros(count + 1, np.int64)
    offsets[1:] = np.bincount(near, minlength=count).cumsum()
    keys = near.astype(np.int64) << 32 | far
    keys.sort()
    neighbours: Any = (keys & 0xFFFFFFFF).astype(np.int32)
    return offsets, neighbours
