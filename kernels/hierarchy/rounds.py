"""The rounds of contraction: which vertices, how hard to search for witnesses, and when to give up."""

import numpy as np

from kernels.answers import Hierarchy
from kernels.arrays import on_gpu
from kernels.graph import Array, Graph
from kernels.hierarchy.assembly import Contracted, assemble
from kernels.hierarchy.constants import LEVEL, SHORTCUT
from kernels.hierarchy.core import Core, core_of, remaining, require_road_like, tails_of

_SPARSE = 4  # arcs per vertex of the core up to which the limits below hold; they rise with the density
_SETTLED, _SETTLED_FOR_SCORE = 16, 12  # vertices that a search for witnesses settles


def contract_all(graph: Graph, order: Array | None) -> Hierarchy:
    """Contract all vertices, by scores or by descending positions `order` (index width [V])."""
    if on_gpu(graph, "build_hierarchy"):
        from kernels.hierarchy.cuda import choose, contract, count_shortcuts
    else:
        from kernels.hierarchy.cpu import choose, contract, count_shortcuts
    core = core_of(graph)
    stale, scores = np.ones_like(core.rows, np.bool_), np.zeros_like(core.rows, np.int64)
    contracted, recorded = [Contracted.of(core, ~stale)], 0
    while core.size:
        require_road_like(core, recorded, graph.num_vertices)
        density = max(1, len(core.out.heads) / core.size / _SPARSE)
        if order is None:
            counts = count_shortcuts(core, np.flatnonzero(stale[tails_of(core.into)]), int(_SETTLED_FOR_SCORE * density))
            scores = np.where(stale, _score(core, counts), scores)
            keys = (scores + LEVEL * core.levels.astype(np.int64) << 32) | _scattered(core.rows)
        else:
            keys = -order[core.rows].astype(np.int64)
        chosen, stale, levels = choose(core, keys)
        contracted.append(Contracted.of(core, chosen))
        recorded += contracted[-1].arcs
        out = contract(core, chosen, int(_SETTLED * density))
        keep = ~chosen
        core = remaining(core, keep, levels, out)
        stale, scores = stale[keep], scores[keep]
    return assemble(graph, contracted)


def _score(core: Core, counts: Array) -> Array:
    """Shortcuts per arc that contraction removes, in units."""
    removed = core.out.offsets[1:] - core.out.offsets[:-1] + core.into.offsets[1:] - core.into.offsets[:-1]
    scores: Array = SHORTCUT * (counts << int(core.symmetric)) // np.maximum(removed, 1)
    return scores


def _scattered(rows: Array) -> Array:
    """Different numbers below 2^32 in an order that is unrelated to the rows': of equal scores, a third is chosen in a round."""
    mixed = rows.astype(np.uint64)
    for factor in (0x7FEB352D, 0x846CA68B):
        mixed = (mixed ^ (mixed >> np.uint64(16))) * np.uint64(factor) & np.uint64(0xFFFFFFFF)
    return (mixed ^ (mixed >> np.uint64(16))).astype(np.int64)
