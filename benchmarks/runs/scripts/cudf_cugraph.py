"""What a user would write instead on a GPU: cuDF and cuGraph, Parquet to Parquet, without proof or report.

`python cudf_cugraph.py FILE SOURCE OUT` prints the seconds of its parts as JSON; of a part that fails, its error. cuGraph refuses
the forest of large graphs, so the forest comes last: an error of CUDA makes all later calls fail, even the end of the process.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

started = time.perf_counter()
import rmm  # noqa: E402

rmm.reinitialize(pool_allocator=True, initial_pool_size=int(0.6 * rmm.mr.available_device_memory()[0]) // 256 * 256)
import cudf  # noqa: E402
import cugraph  # noqa: E402

seconds: dict[str, Any] = {"import": time.perf_counter() - started}


def timed(name: str, step: Callable[[], Any]) -> Any:
    """Call `step` and note its seconds."""
    begin = time.perf_counter()
    result = step()
    seconds[name] = time.perf_counter() - begin
    return result


def read(path: str) -> Any:
    """Read the edge list with the weights in the type that all algorithms take."""
    frame = cudf.read_parquet(path)
    frame["weight"] = frame["weight"].astype("float32")
    return frame


def build(edges: Any) -> Any:
    """Build the undirected graph."""
    graph = cugraph.Graph(directed=False)
    graph.from_cudf_edgelist(edges, source="src", destination="dst", edge_attr="weight", renumber=True)
    return graph


def main() -> None:
    """Run the five stages that graphmill runs."""
    path, source, out = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    out.mkdir(parents=True, exist_ok=True)
    edges = timed("read", lambda: read(path))
    graph = timed("graph", lambda: build(edges))
    stages: dict[str, tuple[str, Callable[[], Any]]] = {
        "bfs": ("vertex", lambda: cugraph.bfs(graph, source)),
        "sssp": ("vertex", lambda: cugraph.sssp(graph, source)),
        "wcc": ("vertex", lambda: cugraph.weakly_connected_components(graph)),
        "pagerank": ("vertex", lambda: cugraph.pagerank(graph)),
        "mst": ("src", lambda: cugraph.minimum_spanning_tree(graph).view_edge_list()),
    }
    for name, (key, solve) in stages.items():
        try:
            answer = timed(name, solve)
            timed(f"write {name}", lambda: answer.sort_values(key).to_parquet(out / f"{name}.parquet"))  # noqa: B023
        except Exception as error:  # cuGraph, cuDF, RMM and CUDA each raise errors of their own
            seconds[name] = f"{type(error).__name__}: {error}".splitlines()[0][:100]
    seconds["total"] = time.perf_counter() - started
    print(json.dumps(seconds), flush=True)
    os._exit(0)  # after an error of CUDA, destructors abort the process


main()
