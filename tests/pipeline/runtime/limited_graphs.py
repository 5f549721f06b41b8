"""The graphs of `limits.py`, of a stated number of edges, and files beside each that its products need."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from benchmarks.generators import grid_edges
from kernels.generators import ends, graph500, weights

SOURCES, PAIRS, CHANGES = "sources.csv", "pairs.parquet", "changes.parquet"
_FEW = 4  # sources and pairs
_CHANGED = 2_000  # edges that are inserted


def write_graph(folder: Path, name: str, edges: int) -> None:
    """Write a graph, and the files that products and changes of it need."""
    path = folder / name
    GRAPHS[name](path, edges)
    table = pa.csv.read_csv(path) if name.endswith(".csv") else pq.read_table(path)
    src = table["src"].to_numpy()
    few = list(dict.fromkeys(src[:: max(1, len(src) // _FEW)].tolist()))[:_FEW]
    files = folder / f"{name}.files"
    files.mkdir()
    pa.csv.write_csv(pa.table({"id": few}), files / SOURCES)
    last = table["dst"][-1].as_py()
    pairs = [one for one in few if one != last]
    pq.write_table(pa.table({"src": pairs, "dst": [last] * len(pairs)}), files / PAIRS)
    some = slice(0, len(src), max(1, len(src) // _CHANGED))
    new = max(table[end].to_numpy().max() for end in ("src", "dst")) + 1 if src.dtype.kind == "i" else "new"
    tails = list(dict.fromkeys(src[some].tolist()))
    inserted = {"op": ["insert"] * len(tails), "src": tails, "dst": [new] * len(tails)}
    if "weight" in table.column_names:
        inserted["weight"] = pa.array([3] * len(tails), table["weight"].type)
    pq.write_table(pa.table(inserted), files / CHANGES)


def _write(path: Path, src: np.ndarray, dst: np.ndarray, weight: np.ndarray | None, group: int = 2**17) -> None:
    table = {"src": src, "dst": dst} | ({} if weight is None else {"weight": weight})
    pq.write_table(pa.table(table), path, row_group_size=group)


def _kronecker(path: Path, edges: int, below: int, step: int = 1, kind: str = "int64") -> None:
    src, dst = ends(graph500(edges.bit_length() - below), 0, edges)
    _write(path, src * step, dst * step, weights(src, dst).astype(kind) / (1 if kind == "int64" else 8))


def _random(path: Path, edges: int, per_vertex: int, weighted: bool = True) -> None:
    vertices = edges // per_vertex
    src, dst = np.random.default_rng(vertices).integers(0, vertices, (2, edges))
    _write(path, src, dst, 1 + (src + dst) % 100 if weighted else None)


def _one_group(path: Path, edges: int) -> None:
    _write(path, *ends(graph500(edges.bit_length() - 5), 0, edges), None, edges)


def _grid(path: Path, edges: int) -> None:
    of_grid = grid_edges(int((edges / 4) ** 0.5))
    src, dst = (np.concatenate(both) for both in zip(of_grid, of_grid[::-1], strict=True))
    _write(path, src, dst, 1 + (src + dst) % 50)


def _star(path: Path, edges: int) -> None:
    _write(path, np.zeros(edges, np.int64), np.arange(1, edges + 1), 1 + np.arange(edges) % 9)


def _path(path: Path, edges: int) -> None:
    _write(path, np.arange(edges), np.arange(1, edges + 1), 1 + np.arange(edges) % 7)


def _text(path: Path, edges: int, names: str = "") -> None:
    src, dst = ends(graph500(edges.bit_length() - 6), 0, edges)
    columns = [np.char.add(names, column.astype(str)) for column in (src, dst)] if names else [src, dst]
    with pa.output_stream(path, compression=None) as file:
        pa.csv.write_csv(pa.table({"src": columns[0], "dst": columns[1], "weight": 1 + (src + dst) % 7}), file)


GRAPHS: dict[str, Callable[[Path, int], None]] = {
    "kronecker.parquet": partial(_kronecker, below=4),
    "sparse-ids.parquet": partial(_kronecker, below=6, step=2**40),
    "decimals.parquet": partial(_kronecker, below=5, kind="float64"),
    "few-vertices.parquet": partial(_random, per_vertex=3000),  # nearly all edges are parallel
    "wide.parquet": partial(_random, per_vertex=1),
    "unweighted.parquet": partial(_random, per_vertex=23, weighted=False),
    "one-row-group.parquet": _one_group,
    "grid.parquet": _grid,
    "star.parquet": _star,
    "path.parquet": _path,
    "text.csv": _text,
    "names.csv": partial(_text, names="user-"),
}
