"""Write an R-MAT edge list as Parquet, the same on every machine: `python -m benchmarks.rmat_parquet 24 rmat-24.parquet`.

Graph500's parameters: 2^scale vertices, 16 edges per vertex, ids permuted; weights 1..999. `graphmill run --undirected` reads it.
"""

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.generators import EDGES_PER_VERTEX, LARGEST_WEIGHT, rmat_edges
from kernels.cpu.parallel import cores
from pipeline.runtime.threads import map_in_order

CHUNK = 1 << 20  # edges, each chunk with its own random stream
SCHEMA = pa.schema([pa.field(name, pa.int64(), nullable=False) for name in ("src", "dst", "weight")])


def edges(scale: int) -> Iterator[pa.RecordBatch]:
    """Batches of `src`, `dst` and `weight`, int64, drawn on all cores."""
    names = np.random.Generator(np.random.Philox(key=scale)).permutation(1 << scale)

    def draw(chunk: int) -> pa.RecordBatch:
        random = np.random.Generator(np.random.Philox(key=scale).jumped(chunk + 1))
        src, dst = rmat_edges(scale, CHUNK, partial(random.random, dtype=np.float32))
        weights = random.integers(1, LARGEST_WEIGHT + 1, CHUNK)
        return pa.RecordBatch.from_arrays([pa.array(column) for column in (names[src], names[dst], weights)], schema=SCHEMA)

    return map_in_order(draw, range((EDGES_PER_VERTEX << scale) // CHUNK), cores())


def main() -> None:
    """Write the file that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rmat_parquet", description=__doc__)
    parser.add_argument("scale", type=int, help="the graph has 2^scale vertices; at least 16")
    parser.add_argument("path", type=Path, help="the Parquet file")
    asked = parser.parse_args()
    with pq.ParquetWriter(asked.path, SCHEMA, compression="lz4") as writer:
        for batch in edges(asked.scale):
            writer.write_batch(batch)


if __name__ == "__main__":
    main()
