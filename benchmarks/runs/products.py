"""Compare `graphmill estimate` with the CPU time of products: `python -m benchmarks.runs.products --help`.

Each line has the seconds that were estimated and the CPU seconds that a product took, divided by the number of cores: unlike wall
time they hardly depend on what else runs. The exit status is 1 if they are farther apart than FACTOR.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.runs import sources
from kernels.cpu.parallel import cores
from pipeline.config.loading import run_config
from pipeline.config.run import RunConfig
from pipeline.inspection.estimate import estimate
from pipeline.progress.shown import P, R
from pipeline.run import run

FACTOR = 2.0
PRODUCTS = ("nearest", "isochrones", "closeness", "flows")


def network(side: int, decimals: bool) -> pa.Table:
    """A thinned grid, with integer weights or with tenths of them as floats."""
    table = pa.concat_tables(sources.grid(side))
    return table.set_column(2, "weight", pc.divide(pc.cast(table["weight"], pa.float64()), 10.0)) if decimals else table


def asked(folder: Path, table: pa.Table, count: int) -> RunConfig:
    """A run with all products from some vertices, evenly spread."""
    pq.write_table(table, folder / "graph.parquet")
    ids = pc.unique(table["src"]).to_numpy()
    some = np.sort(ids[np.linspace(0, len(ids) - 1, min(count, len(ids))).astype(np.int64)])
    file, pairs = folder / "vertices.txt", folder / "pairs.parquet"
    file.write_text("".join(f"{vertex}\n" for vertex in some))
    pq.write_table(pa.table({"src": some, "dst": some[::-1]}), pairs)
    near = 20 * pc.mean(table["weight"]).as_py()
    limits = [near, 2 * near] if pa.types.is_floating(table["weight"].type) else [int(near), 2 * int(near)]
    return run_config(
        "benchmark", graph={"source": str(folder / "graph.parquet"), "directed": False}, output=folder / "out", stages=["wcc"],
        backend="cpu", nearest={"facilities": str(file), "count": 3}, isochrones={"thresholds": limits, "sources": str(file)},
        closeness={"sources": str(file)}, flows={"pairs": str(pairs)},
    )  # fmt: skip


def compared(config: RunConfig) -> Iterator[tuple[str, float, float]]:
    """The products, each with its estimated seconds and its CPU seconds for each core."""
    found, used = estimate(config).seconds, dict[str, float]()

    def call(name: str, step: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:  # type: ignore[valid-type, type-var]
        begun = time.process_time()
        made: R = step(*args, **kwargs)  # type: ignore[valid-type]
        used[name] = (time.process_time() - begun) / cores()
        return made

    run(config, call=call)
    yield from ((name, found[name], used[name]) for name in PRODUCTS)


def main() -> None:
    """Print a line for each product of each graph."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.runs.products", description=__doc__)
    parser.add_argument("--side", type=int, default=300, help="of the grid (default: 300)")
    parser.add_argument("--sources", type=int, default=2000, help="number of sources (default: 2000)")
    options, far = parser.parse_args(), False
    for decimals in (False, False, True):  # the first one also compiles
        with tempfile.TemporaryDirectory() as name:
            kind = "decimals" if decimals else "integers"
            for product, expected, taken in compared(asked(Path(name), network(options.side, decimals), options.sources)):
                far |= not 1 / FACTOR < expected / taken < FACTOR
                print(f"{kind}: {product}: {taken:.2f} s of CPU for each core, estimated {expected:.2f}", flush=True)
    sys.exit(far)


if __name__ == "__main__":
    main()
