"""Time the kernels over several GPUs, with proofs, and cuGraph's multi-GPU API: `python -m benchmarks.several_gpus.bench --help`.

Each call runs the parts that it is asked for, one after the other, and writes each row at once; `table` puts all rows together.
"""

import argparse
import json
import shutil
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.schema import failure_of
from benchmarks.several_gpus import ranks
from benchmarks.several_gpus.edge_lists import edge_list, log, on_ranks
from benchmarks.several_gpus.shares import by_name
from benchmarks.several_gpus.table import OURS, PEER, ShardRow, add, collect, write
from kernels.cpu.parallel import cores
from kernels.gpu.devices import device_count
from pipeline.cluster.protocol import Cluster
from pipeline.cluster.start import started
from pipeline.cluster.threads import LocalThreads
from pipeline.config.cluster import ClusterConfig
from pipeline.config.layout import LayoutConfig
from pipeline.runtime.backend import gpu
from pipeline.steps.layout import store_part
from pipeline.store.facts import EdgeFacts
from pipeline.store.manifest import Folder

PARTS = ("ready", "drawn", "stored", "bfs", "sssp", "wcc", "pagerank", "forest")
SPREAD = ("bfs", "sssp", "labels", "queries", "reach")  # the parts of sources.py


def main() -> None:
    """Run parts, or write the table of all measurements."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.several_gpus.bench", description=__doc__)
    parser.add_argument("command", choices=("shards", "sources", "cugraph", "table"))
    parser.add_argument(
        "--graph", action="append", default=[], metavar="GRAPH:PARTS",
        help=f"rmat-SCALE or grid-SIDE, for sources also new-york or dag-LAYERSxWIDTH; and of {','.join(PARTS)}, "
        f"for sources of {','.join(SPREAD)}, what to run",
    )  # fmt: skip
    parser.add_argument("--gpus", type=int, default=0, help="number of GPUs; 0: all")
    parser.add_argument("--threads", action="store_true", help="ranks are threads of this process on one GPU, for a trial run")
    parser.add_argument("--runs", type=int, default=8, help="runs of a kernel, and its sources")
    parser.add_argument("--seconds", type=float, default=60.0, help="time of a kernel after which no source is added")
    parser.add_argument(
        "--sources", type=int, default=4096, help="for sources: searches per GPU, and tasks of other work, one for 64 searches"
    )
    parser.add_argument("--work", type=Path, default=Path("out/several_gpus"), help="edge lists, stored graphs, rows")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks/several_gpus.parquet"))
    asked = parser.parse_args()
    asked.work.mkdir(parents=True, exist_ok=True)
    if asked.command == "table":
        asked.out.parent.mkdir(parents=True, exist_ok=True)
        write(asked.out, collect(asked.work))
        print(asked.out.with_suffix(".md").read_text(encoding="utf-8"))
        return
    asked.gpus = asked.gpus or device_count()
    graphs = [graph.partition(":")[::2] for graph in asked.graph]
    if asked.command == "cugraph":
        from benchmarks.several_gpus import peers

        for asked.graph, asked.only in graphs:
            peers.run(asked, row_of(asked, PEER))
        return
    with _cluster(asked) as cluster:
        for asked.graph, asked.only in graphs:
            if asked.command == "sources":
                from benchmarks.several_gpus import sources

                sources.run(asked, cluster, row_of(asked, OURS))
            else:
                _shards(asked, cluster)


def row_of(asked: Any, library: str, **columns: Any) -> ShardRow:
    """A row of the graph asked for, on this machine."""
    where = gpu()
    return ShardRow(
        _title(asked.graph), "", asked.gpus, library, **where, version=columns.pop("version", ""), cpu_cores=cores(), **columns
    )


def _title(graph: str) -> str:
    kind, _, size = graph.partition("-")
    titles = {"new": "New York", "dag": f"layered DAG {size.replace('x', ' x ')}"}
    return titles[kind] if kind in titles else by_name(graph).name


@contextmanager
def _cluster(asked: Any) -> Iterator[Cluster]:
    if asked.threads:
        yield LocalThreads(asked.gpus)
        return
    begun = time.perf_counter()
    with started(ClusterConfig(scheduler="local", workers=asked.gpus, shards=asked.gpus, lost_workers=0), "gpu") as cluster:
        log(f"{asked.gpus} workers in {time.perf_counter() - begun:.1f} s")
        yield cluster


def _shards(asked: Any, cluster: Cluster) -> None:
    """One graph over all ranks."""
    row = row_of(asked, OURS)

    together = partial(on_ranks, cluster, asked.gpus)

    chosen: list[int] = []
    for part in asked.only.split(","):
        begun = time.perf_counter()
        try:
            if part in ("ready", "drawn", "stored"):
                what, made = _made_ready(asked, cluster, part, together)
                row = replace(row, vertices=made.vertices, arcs=made.arcs)
                note = f"{made.most_arcs:,} arcs on the fullest rank, {made.ghosts:,} ghosts at most"
                milliseconds = 1000 * made.seconds
                add(asked.work, replace(row, what=what, median=milliseconds, runs=1, note=note))
                log(f"{what}: {milliseconds:.0f} ms, {note}")
                chosen, ids = together(ranks.sources, asked.runs)
                _write_sources(asked, ids)
                continue
            found = together(ranks.measure, ranks.Measurement(part, chosen, asked.runs, asked.seconds))
            measured = _row_of_kernel(replace(row, what=part), found)
        except Exception as wrong:
            traceback.print_exc()
            measured = replace(row, what=part, failure=failure_of(wrong))
        add(asked.work, measured)
        log(f"{part}: {measured.failure or measured.median} ms; {time.perf_counter() - begun:.1f} s in all")


def _made_ready(
    asked: Any, cluster: Cluster, part: str, together: Callable[..., Any]
) -> tuple[str, ranks.Ready]:  # fmt: skip
    if part == "drawn":
        return "ready from edges in device memory", together(ranks.draw_edges, asked.graph)
    edges = edge_list(asked, together)
    if part == "ready":
        return "ready from the edge list", together(ranks.read_edges, (asked.graph, edges.path, EdgeFacts.of(edges).edges))
    return "ready from stored shards", together(ranks.load_shards, _stored(asked, cluster, edges))


def _stored(asked: Any, cluster: Cluster, edges: Folder) -> Folder:
    """The stored graph, without the hashes of a manifest, which are not timed."""
    shares, folder = by_name(asked.graph), asked.work / f"{asked.graph}-stored"
    layout = LayoutConfig(order=shares.order, shards=asked.gpus)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    begun = time.perf_counter()
    ((part, *_),) = cluster.map(partial(store_part, edges, layout, None), [folder], "gpu", asked.gpus)
    log(f"stored and proved in {time.perf_counter() - begun:.1f} s")
    return part.folder


def _row_of_kernel(row: ShardRow, found: ranks.KernelTimes) -> ShardRow:
    if found.failure:
        return replace(row, failure=f"certificate: {found.failure}"[:300])
    times = np.array(found.seconds)
    arcs = np.resize(np.array(found.arcs, float), len(times))
    return replace(
        row, median=1000 * float(np.median(times)), least=1000 * float(times.min()), most=1000 * float(times.max()),
        runs=len(times), supersteps=float(np.median(found.supersteps)), teps=len(times) / float((times / arcs).sum()),
        proof=1000 * float(np.median(found.proofs)), check=found.checks[0],
        note=f"{len(found.proofs)} sources" if len(found.proofs) > 1 else "",
    )  # fmt: skip


def _write_sources(asked: Any, ids: list[int]) -> None:
    """Write the sources' ids for the peer, which may be waiting for them."""
    path = asked.work / f"{asked.graph}-sources.json"
    unfinished = path.with_suffix(".new")
    unfinished.write_text(json.dumps(ids), encoding="utf-8")
    unfinished.rename(path)


if __name__ == "__main__":
    main()
