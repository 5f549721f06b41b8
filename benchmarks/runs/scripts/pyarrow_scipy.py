"""What a user would write instead without a GPU: pyarrow and SciPy, Parquet to Parquet, without proof or report.

`python pyarrow_scipy.py FILE SOURCE OUT` prints the seconds of its parts as JSON. Ids are rows of the matrix.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

started = time.perf_counter()
import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
import scipy.sparse as sp  # noqa: E402
from scipy.sparse import csgraph  # noqa: E402

seconds: dict[str, float] = {"import": time.perf_counter() - started}


def timed(name: str, step: Callable[[], Any]) -> Any:
    """Call `step` and note its seconds."""
    begin = time.perf_counter()
    result = step()
    seconds[name] = time.perf_counter() - begin
    return result


def matrix(table: pa.Table) -> sp.csr_matrix:
    """Both directions of every edge, without self-loops."""
    src, dst, weights = (table[name].to_numpy() for name in ("src", "dst", "weight"))
    size, kept = int(max(src.max(), dst.max())) + 1, src != dst
    src, dst, weights = src[kept], dst[kept], weights[kept].astype(np.float64)
    entries = np.concatenate([weights, weights]), (np.concatenate([src, dst]), np.concatenate([dst, src]))
    return sp.coo_matrix(entries, (size, size)).tocsr()


def main() -> None:
    """Run the four stages that graphmill runs without PageRank."""
    path, source, out = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    out.mkdir(parents=True, exist_ok=True)

    def write(name: str, **columns: Any) -> None:
        timed(f"write {name}", lambda: pq.write_table(pa.table(columns), out / f"{name}.parquet"))

    table = timed("read", lambda: pq.read_table(path))
    graph = timed("graph", lambda: matrix(table))
    vertices = np.arange(graph.shape[0])
    _, predecessors = timed("bfs", lambda: csgraph.breadth_first_order(graph, source))
    write("bfs", vertex=vertices, predecessor=predecessors)
    distances, predecessors = timed("sssp", lambda: csgraph.dijkstra(graph, indices=source, return_predecessors=True))
    write("sssp", vertex=vertices, distance=distances, predecessor=predecessors)
    forest = timed("mst", lambda: csgraph.minimum_spanning_tree(graph).tocoo())
    write("mst", src=forest.row, dst=forest.col, weight=forest.data)
    _, labels = timed("wcc", lambda: csgraph.connected_components(graph, directed=False))
    write("wcc", vertex=vertices, labels=labels)
    seconds["total"] = time.perf_counter() - started
    print(json.dumps(seconds))


main()
