"""Graphs too large for one GPU: each rank draws its share of the edges, the same edges however many ranks there are."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import cupy as cp
import numpy as np
import pyarrow as pa

from benchmarks.one_gpu.graphs import weight_of_endpoints
from kernels.cpu.parallel import cores
from kernels.generators import ends, graph500
from kernels.generators.drawing import EDGES_PER_VERTEX
from kernels.graph import Array
from pipeline.ingest.writer import edges_schema, write
from pipeline.store.facts import EdgeFacts
from pipeline.store.facts.sources import SourceFacts
from pipeline.store.manifest import Folder, Manifest

DROPPED = 0.35  # fraction of a grid's edges that is removed
_CHUNK = 1 << 22  # edges, each chunk with its own seed
_WORKER_THREADS = 16


@dataclass(frozen=True)
class Shares:
    """An undirected graph whose edges are drawn in chunks."""

    name: str
    order: str  # {"degree", "windowed"}: of its rows
    declared: int  # all ids are smaller; 0 if only the ids that occur are vertices
    chunks: int
    chunk: Callable[[int], tuple[Array, Array, Array]]  # `chunk(number)`: src and dst, int64, and int32 weights 1..999, with CuPy

    def of_rank(self, rank: int, size: int) -> range:
        """The numbers of a rank's chunks."""
        return range(self.chunks * rank // size, self.chunks * (rank + 1) // size)

    def edges(self, rank: int, size: int) -> tuple[Array, Array, Array]:
        """A rank's share in memory: src and dst, int32, and weights."""
        drawn = [(cp.empty(0, np.int64), cp.empty(0, np.int64), cp.empty(0, np.int32))]
        drawn += [self.chunk(number) for number in self.of_rank(rank, size)]
        src, dst, weights = (cp.concatenate([chunk[column] for chunk in drawn]) for column in range(3))
        return src.astype(np.int32), dst.astype(np.int32), weights


def rmat(scale: int) -> Shares:
    """R-MAT with Graph500's parameters, ids scrambled, self-loops and parallel edges kept; vertices are the ids that occur."""
    count = EDGES_PER_VERTEX << scale
    chunk = min(_CHUNK, count)
    return Shares(f"R-MAT {scale}", "degree", 0, count // chunk, partial(_rmat_chunk, scale, chunk))


def grid(side: int) -> Shares:
    """Square 4-neighbour grid, row by row, with a fraction of its edges removed."""
    rows = max(1, _CHUNK // (2 * side))
    return Shares(f"road-like grid {side} x {side}", "windowed", side * side, -(-side // rows), partial(_grid_chunk, side, rows))


def by_name(name: str) -> Shares:
    """The graph `rmat-SCALE` or `grid-SIDE`."""
    kind, _, size = name.partition("-")
    return {"rmat": rmat, "grid": grid}[kind](int(size))


def write_share(shares: Shares, folder: Path, rank: int, size: int) -> int:
    """Write a rank's share as Parquet, in the form that ingest writes, one file per thread; return the number of edges."""
    mine, schema = shares.of_rank(rank, size), edges_schema(pa.int64())
    threads = min(cores(), _WORKER_THREADS)
    device = cp.cuda.Device()

    def tables(thread: int) -> Iterator[pa.Table]:
        for number in mine[thread::threads]:
            with device:
                columns = [cp.asnumpy(column) for column in shares.chunk(number)]
            yield pa.table([pa.array(column.astype(np.int64, copy=False)) for column in columns], schema)

    def write_file(thread: int) -> int:
        return write(folder / f"part-{rank * _WORKER_THREADS + thread:05d}.parquet", schema, tables(thread))

    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(write_file, range(threads)))


def folder_of(shares: Shares, folder: Path, edges: int) -> Folder:
    """The edge list of all shares; its files are not hashed, because only the benchmark reads them."""
    facts = EdgeFacts(
        format="drawn", directed=False, directed_by="format", columns=None, ignored_columns=[],
        weight="int64", edges=edges, first_id=0, declared_vertices=shares.declared,
        largest=dict.fromkeys(("src", "dst", "weight"), 2**31 - 1),
        source=SourceFacts(path=shares.name, bytes=0, blake3=""), text_bytes=None,
    )  # fmt: skip
    return Folder(folder, Manifest("edges", shares.name, {}, {}, facts.stored(), {}, "", "", 0.0))


def _rmat_chunk(scale: int, chunk: int, number: int) -> tuple[Array, Array, Array]:
    src, dst = ends(graph500(scale), number * chunk, (number + 1) * chunk, cp)
    return src, dst, weight_of_endpoints(src, dst)


def _grid_chunk(side: int, rows: int, number: int) -> tuple[Array, Array, Array]:
    first = number * rows
    cells = cp.arange(first * side, min(first + rows, side) * side, dtype=cp.int64)
    right, down = cells[cells % side != side - 1], cells[cells < side * (side - 1)]
    src, dst = cp.concatenate([right, down]), cp.concatenate([right + 1, down + side])
    kept = _drawn(src, dst) >= DROPPED
    src, dst = src[kept], dst[kept]
    return src, dst, weight_of_endpoints(src, dst)


_drawn = cp.ElementwiseKernel(
    "int64 src, int64 dst",
    "float32 drawn",
    "unsigned long long mixed = src * 0x9e3779b97f4a7c15ull ^ dst * 0xc2b2ae3d27d4eb4full;"
    "mixed = (mixed ^ (mixed >> 31)) * 0xbf58476d1ce4e5b9ull; mixed = (mixed ^ (mixed >> 29)) * 0x94d049bb133111ebull;"
    "drawn = (float)(mixed >> 40) / (1 << 24);",
    "graphmill_drawn",
)
