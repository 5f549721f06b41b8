"""The rounds of contraction: which vertices, how hard to search for witnesses, and when to give up."""

import numpy as np

from kernels.answers import Hierarchy
from kernels.arrays import on_gpu
from kernels.graph import Array, Graph
from kernels.hierarchy.assembly import Contracted, assemble
from kernels.hierarchy.constants import LEVEL, SHORTCUT
from kernels.hierarchy.core import SHORTCUTS, Core, core_of, density, remaining, require_road_like

_SPARSE = 4  # arcs per vertex of the core up to which the limits below hold; they rise with the density
_SETTLED, _SETTLED_FOR_SCORE = 16, 6  # vertices that a search for witnesses settles
# Density of the core up to which a given order is followed: it does not suit the weights of the rest. Half of it while the core
# is large, since it would become dense long before its end.
_FOLLOWED, _LARGE = SHORTCUTS / 4, 1 << 15


def contract_all(graph: Graph, order: Array | None) -> Hierarchy:
    """Contract all vertices, by scores or, as long as it suits, by descending positions `order` (index width [V])."""
    if on_gpu(graph, "build_hierarchy"):
        from kernels.hierarchy.cuda import choose, contract, count_shortcuts
    else:
        from kernels.hierarchy.cpu import choose, contract
        from kernels.hierarchy.scores import count_shortcuts
    core, places = core_of(graph), _scattered(graph)
    stale, scores = np.ones_like(core.rows, np.bool_), np.zeros_like(core.rows, np.int64)
    contracted, recorded = [Contracted.of(core, ~stale)], 0
    while core.size:
        dense = density(core, graph.num_vertices)
        require_road_like(core, dense, recorded, graph.num_vertices)
        order = None if dense > (_FOLLOWED / 2 if core.size > _LARGE else _FOLLOWED) else order
        arcs_per_vertex = max(1, len(core.out.heads) / core.size / _SPARSE)
        if order is None:
            before = np.zeros_like(stale)
            before[core.into.heads[stale[core.into_heads]]] = True
            counts = count_shortcuts(core, np.flatnonzero(before), int(_SETTLED_FOR_SCORE * arcs_per_vertex))
            scores = np.where(stale, _score(core, counts), scores)
            keys = (scores + LEVEL * core.levels.astype(np.int64) << 32) | places[core.rows]
        else:
            keys = -order[core.rows].astype(np.int64)
        chosen, touched, levels = choose(core, keys)
        contracted.append(Contracted.of(core, chosen))
        recorded += contracted[-1].arcs
        out = contract(core, chosen, int(_SETTLED * arcs_per_vertex))
        left = np.flatnonzero(~chosen)
        core = remaining(core, left, levels, out)
        stale, scores = (touched if order is None else ~chosen)[left], scores[left]
    return assemble(graph, contracted)


def _score(core: Core, counts: Array) -> Array:
    """Shortcuts per arc that contraction removes, in units."""
    removed = core.out.offsets[1:] - core.out.offsets[:-1] + core.into.offsets[1:] - core.into.offsets[:-1]
    scores: Array = SHORTCUT * counts // np.maximum(removed, 1)
    return scores


def _scattered(graph: Graph) -> Array:
    """Different numbers below 2^32 in an order that is unrelated to the rows': of equal scores, a third is chosen in a round."""
    mixed = np.arange(graph.num_vertices, dtype=np.uint64, like=graph.rows_by_id)
    for factor in (0x7FEB352D, 0x846CA68B):
        mixed = (mixed ^ (mixed >> np.uint64(16))) * np.uint64(factor) & np.uint64(0xFFFFFFFF)
    return (mixed ^ (mixed >> np.uint64(16))).astype(np.int64)
