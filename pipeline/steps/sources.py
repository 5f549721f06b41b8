"""Sources of a run: external ids in, rows of the stored graph out; only the entries that the search needs are read."""

from collections.abc import Sequence

import numpy as np

from kernels.graph import Array
from pipeline.errors import BadSource
from pipeline.store.graph import open_vertices
from pipeline.store.manifest import Folder

_BLOCK = 1 << 20  # degrees that are read at a time


def require_sources(graph: Folder, sources: Sequence[int]) -> None:
    """Raise BadSource for a source that the graph does not have, also if no stage uses sources."""
    rows_of_sources(graph, sources)


def rows_of_sources(graph: Folder, sources: Sequence[int]) -> list[int]:
    """Rows of external ids, by a binary search in the memory maps. Raises BadSource for the first id that is not in the graph."""
    ids, rows_by_id, _, _ = open_vertices(graph)
    wanted = np.array(sources, np.int64)
    positions = np.zeros(len(wanted), np.int64)
    for power in reversed(range(len(ids).bit_length())):
        higher = positions + (1 << power)
        fits = higher < len(ids)
        fits[fits] = ids[rows_by_id[higher[fits]]] <= wanted[fits]
        positions[fits] = higher[fits]
    rows: Array = rows_by_id[positions] if len(ids) else positions
    absent = ids[rows] != wanted if len(ids) else np.ones(len(wanted), np.bool_)
    if absent.any():
        known = f"ids {ids[rows_by_id[0]]}..{ids[rows_by_id[-1]]}" if len(ids) else "no vertex"
        raise BadSource(f"source {wanted[absent.argmax()]} is not in the graph ({len(ids)} vertices, {known})")
    found: list[int] = rows.tolist()
    return found


def default_source(graph: Folder) -> int | None:
    """External id of the vertex of highest out-degree, the smallest id among equals; None if the graph is empty."""
    ids, _, out_degrees, _ = open_vertices(graph)
    best: tuple[int, int] | None = None
    for first in range(0, len(ids), _BLOCK):
        degrees = out_degrees[first : first + _BLOCK]
        most = degrees.max()
        found = (-int(most), int(ids[first : first + _BLOCK][degrees == most].min()))
        best = min(best or found, found)
    return None if best is None else best[1]
