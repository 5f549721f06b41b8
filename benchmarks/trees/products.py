"""Products of a road network, from stored graph to table, on the GPU if there is one: `python -m benchmarks.trees.products`."""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernels.cpu.parallel import cores
from kernels.gpu.devices import current, name_of, obstacle
from kernels.graph import Array
from pipeline.cluster.lazy_cluster import cluster_of
from pipeline.config.cluster import ClusterConfig
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.config.products import ProductOptions
from pipeline.config.products.closeness import ClosenessConfig
from pipeline.config.products.flows import FlowsConfig
from pipeline.config.products.isochrones import IsochronesConfig
from pipeline.config.products.matrix import MatrixOptions
from pipeline.config.products.nearest import NearestConfig
from pipeline.ingest import ingest
from pipeline.runtime.backend import Backend
from pipeline.steps.derived.hierarchy import build_hierarchy
from pipeline.steps.layout import lay_out
from pipeline.steps.products import closeness, flows, isochrones, matrix, nearest, sweeping, trees
from pipeline.steps.runtime import Runtime
from pipeline.store.facts.products import ProductFacts
from pipeline.store.manifest import Folder
from pipeline.store.vertices import open_vertices

NEW_YORK = Path(__file__).parents[2] / "data" / "USA-road-d.NY.gr.gz"
THRESHOLDS = (20_000, 50_000, 100_000)
Row = tuple[str, int, float, float]  # a product, its sources, the seconds of its step, and those of its trees


def measure(source: str, counts: dict[str, int], runtime: Runtime) -> Iterator[Row]:
    """Each product once, after one from few sources, which is compared with searches, and compiles."""
    work = runtime.work
    edges = ingest(GraphConfig(source=source), work)
    graph = lay_out(edges, LayoutConfig(order="windowed"), runtime)
    made = build_hierarchy(graph, runtime)
    yield "hierarchy", 1, made.manifest.seconds, made.facts["seconds"]
    ids, rows_by_id, _, _ = open_vertices(graph)
    vertices = ids[rows_by_id]
    shuffled = np.random.default_rng(1).permutation(vertices)
    some = {name: np.sort(shuffled[:count]) for name, count in counts.items()}
    files = {name: str(work / f"{name}.parquet") for name in some}
    for name, sources in some.items():
        pq.write_table(pa.table({"vertex": sources}), files[name])
    compare(edges, graph, np.sort(shuffled[:64]), runtime)
    pq.write_table(pa.table({"src": vertices[:2000], "dst": vertices[-2000:]}), work / "pairs.parquet")
    tabulated = {
        "closeness": (closeness.tabulate_closeness, ClosenessConfig(sources=files["closeness"])),
        "isochrones": (
            isochrones.tabulate_isochrones,
            IsochronesConfig(thresholds=THRESHOLDS, sources=files["isochrones"]),
        ),
        "nearest": (nearest.tabulate_nearest, NearestConfig(facilities=files["nearest"], count=3)),
        "flows": (flows.tabulate_flows, FlowsConfig(pairs=str(work / "pairs.parquet"))),
    }
    steps: dict[str, Callable[[], Folder]] = {
        **{name: partial(step, edges, graph, asked, runtime) for name, (step, asked) in tabulated.items()},
        "matrix": lambda: matrix.tabulate_matrix(graph, [some["matrix"]] * 2, MatrixOptions(output=work / "matrix"), runtime),
        "trees": lambda: trees.tabulate_trees(graph, [some["trees"]], ProductOptions(output=work / "trees"), runtime),
    }
    for name, step in steps.items():
        started = time.perf_counter()
        facts = ProductFacts.of(step())
        yield name, facts.sources, time.perf_counter() - started, facts.seconds


def compare(edges: Folder, graph: Folder, sources: Array, runtime: Runtime) -> None:
    """Raise AssertionError unless sweeps and searches give the same bytes."""
    made: list[Any] = []
    before, work = sweeping.WORTH, runtime.work
    pq.write_table(pa.table({"vertex": sources}), work / "few.parquet")
    for worth, name in ((1, "swept"), (sys.maxsize, "searched")):
        sweeping.WORTH = worth
        place = replace(runtime, work=work / name if worth > 1 else work)
        swept = trees.tabulate_trees(graph, [sources], ProductOptions(output=work / f"{name}-trees"), place)
        close = closeness.tabulate_closeness(edges, graph, ClosenessConfig(sources=str(work / "few.parquet")), place)
        made.append([swept.manifest.files, close.manifest.files])
    sweeping.WORTH = before
    assert made[0] == made[1], "sweeps and searches differ"


def main(arguments: list[str] | None = None) -> None:
    """Measure, and print each row."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trees.products", description=__doc__)
    parser.add_argument("--source", default=str(NEW_YORK), help="a graph file (default: New York)")
    parser.add_argument(
        "--sources", type=int, default=0, help="of closeness (default: all, on CPUs 4,096) and isochrones (85,000; 4,096)"
    )
    parser.add_argument("--workers", type=int, default=0, help="Dask workers, each with a GPU if there is one (default: none)")
    parser.add_argument("--cpu", action="store_true", help="measure the CPU even if there is a GPU")
    options = parser.parse_args(arguments)
    backend: Backend = "cpu" if options.cpu or obstacle() else "gpu"
    most = options.sources or (4096 if backend == "cpu" else 10**9)
    counts = {"closeness": most, "isochrones": min(most, 85_000), "nearest": 1000, "matrix": 2000, "trees": 64}
    print(
        f"On {name_of(current()) if backend == 'gpu' else f'{cores()} CPU cores'}; trees: the time of proved trees in the step.\n"
    )
    print("| product | sources | step, s | trees, s |\n|---|---:|---:|---:|", flush=True)
    asked = ClusterConfig(scheduler="local" if options.workers else "none", workers=options.workers)
    with TemporaryDirectory() as work, cluster_of(asked, backend) as cluster:
        for name, sources, seconds, swept in measure(options.source, counts, Runtime(Path(work), backend, cluster)):
            print(f"| {name} | {sources:,} | {seconds:.2f} | {swept:.2f} |", flush=True)


if __name__ == "__main__":
    main()
