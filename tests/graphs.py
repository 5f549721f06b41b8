"""Named tiny graphs, and the plain way from an edge list to a Graph, independent of the layout under test."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from kernels.graph import ID, OFFSET, Csr, Graph, index_dtype

Edge = tuple[int, int] | tuple[int, int, float]


@dataclass(frozen=True)
class EdgeList:
    """Edges in external ids, `(src, dst)` or `(src, dst, weight)`; `vertices` adds those that no edge touches."""

    name: str
    edges: tuple[Edge, ...]
    directed: bool = True
    vertices: tuple[int, ...] = ()

    @property
    def weighted(self) -> bool:
        return any(len(edge) == 3 for edge in self.edges)

    @property
    def ids(self) -> list[int]:
        return sorted({end for edge in self.edges for end in edge[:2]} | set(self.vertices))

    def arcs(self) -> dict[tuple[int, int], float]:
        """Clean arcs: no self-loops, the lightest of parallel ones, both directions of an undirected edge; weight 1 if none."""
        arcs: dict[tuple[int, int], float] = {}
        for edge in self.edges:
            src, dst, weight = (*edge, 1)[:3]
            for pair in ((src, dst),) if self.directed else ((src, dst), (dst, src)):
                if src != dst:
                    arcs[pair] = min(weight, arcs.get(pair, weight))
        return arcs


def graph_of(edges: EdgeList, order: Iterable[int] | None = None, dtype: type = np.int64) -> Graph:
    """Build the clean Graph of an edge list with its rows in `order` (external ids; ascending by default)."""
    ids = list(edges.ids if order is None else order)
    row = {vertex: position for position, vertex in enumerate(ids)}
    arcs = edges.arcs()
    symmetric = all(arcs.get((dst, src)) == weight for (src, dst), weight in arcs.items())

    def csr(forward: bool) -> Csr:
        rows: list[list[tuple[int, float]]] = [[] for _ in ids]
        for (src, dst), weight in sorted(arcs.items(), key=lambda arc: arc[0] if forward else arc[0][::-1]):
            near, far = (src, dst) if forward else (dst, src)
            rows[row[near]].append((row[far], weight))
        offsets = np.zeros(len(ids) + 1, OFFSET)
        offsets[1:] = np.cumsum([len(arcs_of_row) for arcs_of_row in rows])
        flat = [arc for arcs_of_row in rows for arc in arcs_of_row]
        indices = np.array([far for far, _ in flat], index_dtype(len(ids)))
        return Csr(offsets, indices, np.array([weight for _, weight in flat], dtype) if edges.weighted else None)

    out = csr(True)
    rows_by_id = np.argsort(np.array(ids, ID), kind="stable").astype(index_dtype(len(ids)))
    return Graph(np.array(ids, ID), rows_by_id, out, out if symmetric else csr(False), edges.directed)


def _cycle(n: int, weight: float) -> tuple[Edge, ...]:
    return tuple((i, (i + 1) % n, weight) for i in range(n))


# Figure 1 of Anastasopoulos and Megrampian, "Mapping graphs on the graphics card" (2016): a..g are 0..6.
FIGURE_1 = EdgeList(
    "figure_1",
    (
        (0, 1, 4), (0, 3, 12), (0, 4, 9), (1, 2, 8), (1, 4, 7), (2, 4, 5), (2, 6, 2), (3, 4, 3), (3, 5, 6), (4, 5, 1),
        (4, 6, 13), (5, 6, 11),
    ),
    directed=False,
)  # fmt: skip

NAMED_GRAPHS = (
    EdgeList("empty", ()),
    EdgeList("one_vertex", (), vertices=(7,)),
    EdgeList("self_loop", ((3, 3, 5),)),
    EdgeList("self_loop_beside_an_arc", ((3, 3, 1), (3, 4, 2), (9, 9, 1))),
    EdgeList("parallel_arcs", ((0, 1, 5), (0, 1, 2), (0, 1, 2), (1, 0, 9))),
    EdgeList("asymmetric_pair", ((0, 1, 5), (1, 0, 2))),
    EdgeList("path", tuple((i, i + 1, 1) for i in range(40)), directed=False),
    EdgeList("long_path", tuple((i, i + 1) for i in range(2000)), directed=False),
    EdgeList("directed_path_against_ids", tuple((i + 1, i, 3) for i in range(30))),
    EdgeList("cycle", _cycle(17, 2)),
    EdgeList("star", tuple((0, i, i) for i in range(1, 100)), directed=False),
    EdgeList("in_star", tuple((i, 0) for i in range(1, 100))),
    EdgeList("two_hubs", tuple((hub, i) for hub in (0, 1) for i in range(2, 90)), directed=False),
    EdgeList("two_islands", ((0, 1, 1), (1, 2, 1), (10, 11, 4), (11, 12, 4)), directed=False, vertices=(5,)),
    EdgeList("isolated_first_and_last", ((5, 6, 1),), vertices=(0, 99)),
    EdgeList("zero_weights", ((0, 1, 0), (1, 2, 0), (0, 3, 4), (3, 2, 0), (2, 4, 0)), directed=False),
    EdgeList("zero_weight_cycle", ((9, 5, 2), (5, 1, 0), (1, 7, 0), (7, 5, 0), (7, 3, 1), (9, 3, 3))),
    EdgeList("zero_weight_clique", tuple((i, j, 0) for i in range(6) for j in range(i)), directed=False),
    EdgeList("equal_weights", tuple((i, j, 7) for i in range(8) for j in range(i)), directed=False),
    EdgeList("equal_weight_cycle", _cycle(12, 5), directed=False),
    EdgeList("diamond", ((0, 2, 1), (0, 1, 1), (2, 3, 1), (1, 3, 1), (3, 4, 1))),
    EdgeList(
        "chained_diamonds",
        tuple(arc for i in range(0, 60, 3) for arc in ((i, i + 1), (i, i + 2), (i + 1, i + 3), (i + 2, i + 3))),
    ),
    EdgeList("id_gaps", ((1_000_000_007, 3, 2), (3, 2**62, 9), (2**62, 17, 1)), directed=False),
    EdgeList("heavy", ((0, 1, 2**40), (1, 2, 2**40), (0, 2, 2**41 + 1)), directed=False),
    EdgeList("two_strong_components", ((0, 1), (1, 0), (1, 2), (2, 3), (3, 2), (4, 4))),
    EdgeList("strong_tail", ((5, 4), (4, 3), (3, 5), (3, 0), (0, 1), (1, 2))),
    FIGURE_1,
)
