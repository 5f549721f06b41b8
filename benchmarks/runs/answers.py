"""Compare the tables of a run with those of a script."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from kernels.graph import Array
from pipeline.tables import files as tables

RELATIVE = 1e-3  # by how much a PageRank score of a script with its default tolerance may differ, relative to the highest


def compare(ours: Path, theirs: Path) -> dict[str, str]:
    """For each table that both have: "equal", or how they differ. Vertices that only the script has are ignored."""
    return {path.stem: COMPARED[path.stem](ours / path.stem, path) for path in sorted(theirs.glob("*.parquet"))}


def _distances(ours: Path, theirs: Path) -> str:
    vertices, (distance, source) = _aligned(ours, theirs, "distance")
    reached = ~np.isnan(distance)
    unreached = (source >= np.finfo(np.float32).max) | (source < 0) | np.isnan(source)
    differing = int((reached == unreached).sum() + (distance[reached] != source[reached]).sum())
    return _verdict(differing, len(vertices))


def _reached(ours: Path, theirs: Path) -> str:
    if "distance" in pq.read_schema(theirs).names:
        return _distances(ours, theirs)
    vertices, (predecessor, other) = _aligned(ours, theirs, "predecessor")
    return _verdict(int((np.isnan(predecessor) != (other < 0)).sum()), len(vertices))


def _components(ours: Path, theirs: Path) -> str:
    vertices, (labels, others) = _aligned(ours, theirs, "labels")
    both = len(np.unique(np.stack([labels, others], axis=1), axis=0))
    return _verdict(2 * both - len(np.unique(labels)) - len(np.unique(others)), len(vertices))


def _forest(ours: Path, theirs: Path) -> str:
    mine, other = (np.sort(table["weight"].to_numpy()) for table in (tables.read(ours), pq.read_table(theirs)))
    if np.array_equal(mine, other):
        return "equal"
    return f"{len(mine):,} edges of {mine.sum():,}, not {len(other):,} of {other.sum():,}"


def _scores(ours: Path, theirs: Path) -> str:
    vertices, (scores, others) = _aligned(ours, theirs, "pagerank")
    return _verdict(int((np.abs(scores - others) > RELATIVE * scores.max()).sum()), len(vertices))


def _aligned(ours: Path, theirs: Path, column: str) -> tuple[Array, tuple[Array, Array]]:
    mine, other = tables.read(ours), pq.read_table(theirs)
    if "source" in mine.schema.names:
        mine = mine.drop_columns("source")
    vertices, names = mine["vertex"].to_numpy(), other["vertex"].to_numpy()
    order = np.argsort(names)
    at = order[np.minimum(np.searchsorted(names, vertices, sorter=order), len(names) - 1)]
    if not np.array_equal(names[at], vertices):
        raise ValueError(f"{theirs}: vertices are missing")
    return vertices, (mine[column].to_numpy().astype(np.float64), other[_like(other.schema.names, column)].to_numpy()[at])


def _like(names: list[str], column: str) -> str:
    return column if column in names else names[-1]


def _verdict(differing: int, total: int) -> str:
    return f"{differing:,} of {total:,} differ" if differing else "equal"


COMPARED: dict[str, Callable[[Path, Path], str]] = {
    "bfs": _reached,
    "sssp": _distances,
    "mst": _forest,
    "wcc": _components,
    "pagerank": _scores,
}
