"""Sources of a run: external ids in, rows of the stored graph out; only the entries that the search needs are read."""

from collections.abc import Iterable, Sequence

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.cpu.parallel import cores, over_items
from kernels.graph import Array
from pipeline.errors import BadSource
from pipeline.store.edges import Columns, id_blocks
from pipeline.store.facts import EdgeFacts
from pipeline.store.manifest import Folder
from pipeline.store.vertices import open_vertices

_BLOCK = 1 << 20  # degrees that are read at a time
_EDGES = 1 << 22  # that are compared at a time


def require_sources(graph: Folder, sources: Sequence[int]) -> None:
    """Raise BadSource for a source that the graph does not have, also if no stage uses sources."""
    rows_of_sources(graph, sources)


def require_sources_in(edges: Folder, sources: Sequence[int], held: Columns | None) -> None:
    """Raise BadSource for a source that is not a vertex of an edge list, before that is laid out.

    Reads until every source was found: of ids that the file declares nothing, otherwise blocks of edges on all cores.

    Args:
        held: The columns of the edge list, if they are in memory.
    """
    facts = EdgeFacts.of(edges)
    if facts.first_id is not None:
        possible = range(facts.first_id, facts.first_id + (facts.declared_vertices or 0))
    else:
        possible = range(max(facts.largest.get(name, 0) for name in ("src", "dst")) + 1)
    missing = {source for source in sources if source not in possible}
    if facts.first_id is None and not missing and sources:
        missing = set(sources)
        for present in _present_in(_blocks(held) if held else id_blocks(edges), np.array(sorted(missing))):
            missing -= present
            if not missing:
                break
    if absent := next((source for source in sources if source in missing), None):
        raise BadSource(f"source {absent} is not in the graph: no edge of {facts.source.path} has it")


def _blocks(held: Columns) -> Iterable[tuple[Array, Array]]:
    src, dst, _ = held
    for first in range(0, len(src), _EDGES):
        yield src[first : first + _EDGES], dst[first : first + _EDGES]


def _present_in(blocks: Iterable[tuple[Array, Array]], sources: Array) -> Iterable[set[int]]:
    """The sources that each group of blocks has, one block on each core."""

    def find(column: Array) -> set[int]:
        if is_cupy_array(column):
            import cupy

            return set(cupy.unique(column[cupy.isin(column, cupy.asarray(sources))]).tolist())
        return set(np.unique(column[np.isin(column, sources)]).tolist())

    waiting: list[Array] = []
    for block in blocks:
        waiting += block
        if len(waiting) >= cores():
            yield set().union(*over_items(waiting, find, parallel=not is_cupy_array(waiting[0])))
            waiting = []
    yield set().union(*over_items(waiting, find))


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
    numbers: list[int] = rows.tolist()
    return numbers


def out_degree(graph: Folder, source: int) -> int:
    """Number of arcs that leave a vertex, given by its external id. Raises BadSource."""
    (row,) = rows_of_sources(graph, [source])
    return int(open_vertices(graph)[2][row])


def default_source(graph: Folder) -> int | None:
    """External id of the vertex of highest out-degree, the smallest id among equals; None if the graph is empty."""
    ids, _, out_degrees, _ = open_vertices(graph)

    def best_from(first: int) -> tuple[int, int]:
        degrees = out_degrees[first : first + _BLOCK]
        most = degrees.max()
        return -int(most), int(ids[first : first + _BLOCK][degrees == most].min())

    return min(over_items(range(0, len(ids), _BLOCK), best_from), default=(0, None))[1]
