"""Stand-ins for graphs of the thesis on GRAIL that were not available: generated, with the numbers of vertices, arcs and roots.

The thesis adds a root to each graph, so it counts one vertex more, and one arc more for each vertex that no arc enters. Ids are a
random permutation. Results for a stand-in do not show what the graph would give: its depth and its arcs are other ones.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from kernels.graph import Array


class Arcs(NamedTuple):
    """A graph: int64 [E] each, and the number of vertices."""

    src: Array
    dst: Array
    num_vertices: int


def citations(num_vertices: int, num_arcs: int, num_roots: int, field: int, seed: int = 1) -> Arcs:
    """Works that cite older works of their field.

    Every work but `num_roots` is cited by a younger work of its field, and the other arcs lead from works to older ones of their
    field that are cited, both drawn uniformly. `field`, the number of works in one, decides how many pairs are reachable.
    """
    random = np.random.default_rng(seed)
    age = np.arange(num_vertices)  # the youngest work of a field has its largest number
    end = np.minimum((age // field + 1) * field, num_vertices)
    youngest = end == age + 1
    cited = np.setdiff1d(age, random.choice(age[~youngest], num_roots - int(youngest.sum()), replace=False))
    cited = cited[~youngest[cited]]
    keys = (cited + 1 + random.integers(0, end[cited] - cited - 1)) * num_vertices + cited
    is_cited = np.zeros(num_vertices, np.bool_)
    is_cited[cited] = True
    while len(keys) < num_arcs:
        one = random.integers(0, num_vertices, num_arcs - len(keys))
        begin = one // field * field
        other = begin + random.integers(0, end[one] - begin)
        young, old = np.maximum(one, other), np.minimum(one, other)
        keys = np.union1d(keys, (young * num_vertices + old)[(young > old) & is_cited[old]])
    return _permuted(keys, num_vertices, random)


def in_tree(num_vertices: int, num_roots: int, levels: int = 5, seed: int = 1) -> Arcs:
    """Many roots and one sink: every vertex but the sink has one arc to a vertex of the level before.

    The vertices that are no roots are in `levels` levels below the sink, each ten times as large as the one before. Each has a
    root, and the other roots have an arc to any of them.
    """
    random, inner = np.random.default_rng(seed), num_vertices - num_roots
    shares = (10.0 ** np.arange(levels + 1) - 1) / (10.0**levels - 1)
    ends = 1 + np.maximum(np.arange(levels + 1), np.ceil(shares * (inner - 1)).astype(np.int64))
    starts = np.append(0, ends)  # level l has the vertices starts[l]..starts[l + 1] - 1
    spans = [starts[level : level + 3].tolist() for level in range(levels)]
    parents = [random.integers(before, begin, end - begin) for before, begin, end in spans]
    roots = np.append(np.arange(inner), random.integers(0, inner, num_roots - inner))
    heads = np.concatenate([*parents, roots])
    return _permuted(np.arange(1, num_vertices) * num_vertices + heads, num_vertices, random)


def _permuted(keys: Array, num_vertices: int, random: np.random.Generator) -> Arcs:
    """The arcs of keys `src * num_vertices + dst`, with other ids."""
    ids = random.permutation(num_vertices)
    return Arcs(ids[keys // num_vertices], ids[keys % num_vertices], num_vertices)


# The arcs of Pubmed and Cit-Patents without the added root's are those of Yıldırım, Chaoji, Zaki: GRAIL. PVLDB 3(1), 2010.
STAND_INS: dict[str, Callable[[], Arcs]] = {
    "Pubmed, stand-in": partial(citations, 9_000, 40_028, 2_609, 450),
    "Cit-Patents, stand-in": partial(citations, 3_774_768, 16_518_947, 515_785, 190_000),
    "Uniprot 22, stand-in": partial(in_tree, 1_595_444, 1_556_157),
    "Uniprot 100, stand-in": partial(in_tree, 16_087_295, 14_598_959),
    "Uniprot 150, stand-in": partial(in_tree, 25_037_600, 21_650_056),
}
