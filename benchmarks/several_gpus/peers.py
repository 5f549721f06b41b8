"""cuGraph's multi-GPU API on Dask-CUDA, as its users call it: the same Parquet files, the same sources, warm."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from statistics import median
from threading import Event, Thread
from typing import Any

from benchmarks.schema import failure_of
from benchmarks.several_gpus.edge_lists import edges_of
from benchmarks.several_gpus.ranks import ITERATIONS
from benchmarks.several_gpus.table import ShardRow, add

POOL = 0.6  # fraction of a GPU's memory for cuGraph
WAIT = 120.0  # seconds for the edge list and the sources, which another process writes
PATIENCE = 5.0  # seconds
SLOW = 5.0  # seconds of a first call after which there is no second one
_FAR = 1e30  # larger distances mean that a vertex is not reached


def run(asked: Any, row: ShardRow) -> None:
    """Build the graph, then compare and time what `asked.only` names, and write each row at once."""
    import cugraph
    import cugraph.dask as dcg
    import cupy
    import dask_cudf
    from cugraph.dask.comms import comms
    from dask_cuda import LocalCUDACluster
    from distributed import Client, wait

    row = replace(row, version=str(cugraph.__version__))
    free = cupy.cuda.Device().mem_info[0]
    with (
        LocalCUDACluster(n_workers=asked.gpus, protocol="tcp", rmm_pool_size=int(POOL * free) // 256 * 256) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(asked.gpus)
        comms.initialize(p2p=True)
        try:
            folder, note = edges_of(asked)
            _await(note)
            begun = time.perf_counter()
            edges = dask_cudf.read_parquet(str(folder / "part-*.parquet"))
            edges = edges.astype({"src": "int32", "dst": "int32", "weight": "float32"})
            graph = cugraph.Graph(directed=False)
            graph.from_dask_cudf_edgelist(edges, source="src", destination="dst", edge_attr="weight", renumber=True)
            vertices = graph.number_of_vertices()
            seconds = time.perf_counter() - begun
            add(asked.work, replace(row, what="ready from the edge list", median=1000 * seconds, runs=1, vertices=vertices))
            print(f"cuGraph: ready in {seconds:.1f} s", flush=True)
            sources = asked.work / f"{asked.graph}-sources.json"
            _await(sources)
            ids = json.loads(sources.read_text(encoding="utf-8"))[: asked.runs]
            calls = {
                "bfs": (lambda source: dcg.bfs(graph, source), _distances, ids),
                "sssp": (lambda source: dcg.sssp(graph, source), _distances, ids),
                "wcc": (lambda _: dcg.weakly_connected_components(graph), _components, [0] * 3),
                "pagerank": (lambda _: dcg.pagerank(graph, tol=1e-30, max_iter=ITERATIONS, fail_on_nonconvergence=False),
                             None, [0] * 3),
            }  # fmt: skip
            for what in asked.only.split(","):
                if what in calls:
                    with _recording_delay(asked.work, replace(row, what=what)):
                        timed = _time(replace(row, what=what), *calls[what], wait)
                    add(asked.work, timed)
        finally:
            comms.destroy()


@contextmanager
def _recording_delay(folder: Any, row: ShardRow) -> Iterator[None]:
    """Record every few seconds that there is no answer yet, because the process may be ended before there is one."""
    done, begun = Event(), time.monotonic()

    def note() -> None:
        while not done.wait(PATIENCE):
            add(folder, replace(row, failure=f"nothing within {time.monotonic() - begun:.0f} s"))

    noting = Thread(target=note, daemon=True)
    noting.start()
    try:
        yield
    finally:
        done.set()
        noting.join()


def _time(
    row: ShardRow,
    solve: Callable[[Any], Any],
    check_of: Callable[[Any], float] | None,
    inputs: list[Any],
    wait: Callable[[Any], Any],
) -> ShardRow:
    def call(one: Any) -> Any:
        found = solve(one)
        frame = (found[0] if isinstance(found, tuple) else found).persist()
        wait(frame)
        return frame

    try:
        begun = time.perf_counter()
        found = call(inputs[0])
        times = [1000 * (time.perf_counter() - begun)]
        check, note = (check_of(found), "") if check_of else (None, "cuGraph's follows the weights, so its scores differ")
        if times[0] > 1000 * SLOW:
            inputs, note = [], "cuGraph's first call"
        else:
            times = []
        for one in inputs:
            begun = time.perf_counter()
            call(one)
            times.append(1000 * (time.perf_counter() - begun))
            print(f"cuGraph: {row.what} {times[-1]:.0f} ms", flush=True)
        return replace(row, median=median(times), least=min(times), most=max(times), runs=len(times), check=check, note=note)
    except Exception as wrong:
        return replace(row, failure=failure_of(wrong))


def _distances(frame: Any) -> float:
    distance = frame["distance"]
    far = 2**31 - 1 if distance.dtype.kind == "i" else _FAR
    return float(distance.where(distance < far, 0).astype("float64").sum().compute())


def _components(frame: Any) -> float:
    return float(frame["labels"].nunique().compute())


def _await(path: Any) -> None:
    begun = time.monotonic()
    while not path.exists():
        if time.monotonic() - begun > WAIT:
            raise TimeoutError(f"{path} did not come within {WAIT:g} s")
        time.sleep(0.2)
