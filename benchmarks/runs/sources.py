"""The source files of the runs: generated edge lists as Parquet, as any tool would write them, and as compressed DIMACS text."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from benchmarks.generators import LARGEST_WEIGHT, grid_edges
from kernels.cpu.parallel import cores
from kernels.generators import ends, graph500, weights
from kernels.gpu.devices import device_count
from pipeline.runtime.threads import map_in_order

SEED = 4242
REMOVED = 0.35  # share of a grid's edges that is left out, which gives it the mean degree of a road network
CHUNK = 1 << 24  # edges drawn at a time
COLUMNS = ("src", "dst", "weight")


def arrays() -> Any:
    """CuPy if there is a GPU, otherwise NumPy; the grids that they draw differ."""
    if not device_count():
        return np
    import cupy

    return cupy


def kronecker(scale: int) -> Iterator[pa.Table]:
    """Graph500's graph of 2^scale vertices and 16 edges per vertex, ids permuted, weights 1 to 999."""
    drawing = graph500(scale)
    for begin in range(0, drawing.num_edges, CHUNK):
        src, dst = ends(drawing, begin, min(begin + CHUNK, drawing.num_edges), arrays())
        yield _table(src, dst, weights(src, dst))


def grid(side: int) -> Iterator[pa.Table]:
    """A square 4-neighbour grid without `REMOVED` of its edges, weights 1 to 999."""
    xp = arrays()
    random = xp.random.default_rng(SEED)
    src, dst = grid_edges(side, arrays=xp)
    kept = random.random(len(src)) >= REMOVED
    src, dst = src[kept], dst[kept]
    for begin in range(0, len(src), CHUNK):
        some = slice(begin, begin + CHUNK)
        yield _table(src[some], dst[some], random.integers(1, LARGEST_WEIGHT + 1, len(src[some])))


def write_parquet(tables: Iterator[pa.Table], path: Path) -> None:
    """Write an edge list with row groups of a million rows and plain, snappy-compressed pages."""
    schema = pa.schema([(name, pa.int64()) for name in COLUMNS])
    with pq.ParquetWriter(path, schema, compression="snappy", use_dictionary=False) as file:
        for table in tables:
            file.write_table(table, row_group_size=1 << 20)


def write_dimacs(source: Path, path: Path) -> None:
    """Write the edges of a Parquet file as a DIMACS graph of both directions, compressed by zstd in many frames as by pzstd."""
    with pq.ParquetFile(source) as file, path.open("wb") as out:
        groups = (file.metadata.row_group(group) for group in range(file.num_row_groups))
        largest = max(group.column(column).statistics.max for group in groups for column in (0, 1))
        out.write(_compressed(f"p sp {largest + 1} {2 * file.metadata.num_rows}\n".encode()))
        for lines in map_in_order(_lines, file.iter_batches(1 << 17), cores()):
            out.write(lines)


def _lines(batch: pa.RecordBatch) -> pa.Buffer:
    """The lines of both directions of some edges, compressed."""
    src, dst, weights = (batch[name].to_numpy() for name in COLUMNS)
    ends = np.stack([np.stack([src + 1, dst + 1], axis=1), np.stack([dst + 1, src + 1], axis=1)], axis=1).reshape(-1, 2)
    columns = {"a": pa.array(["a"] * len(ends)), "src": ends[:, 0], "dst": ends[:, 1], "weight": np.repeat(weights, 2)}
    out = pa.BufferOutputStream()
    pa.csv.write_csv(pa.table(columns), out, pa.csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none"))
    return _compressed(out.getvalue())


def _compressed(content: bytes | pa.Buffer) -> pa.Buffer:
    return pa.Codec("zstd").compress(content)


def _table(*columns: Any) -> pa.Table:
    return pa.table(
        {name: column.get() if hasattr(column, "get") else column for name, column in zip(COLUMNS, columns, strict=True)}
    )
