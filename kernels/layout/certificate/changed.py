"""Certificate of changes: a stored graph is the previous one without the removed edges, and with the inserted ones.

As multisets of (src, dst, weight), its arcs and the removed ones are those of the graph before and the put ones; all four are
compared by the fingerprints of `kernels.layout.certificate`. The removed edges are those that the file of changes names, so a
graph that lost another arc, kept one, or has another weight has other sums. No arc is stored twice: rows ascend strictly.
"""

import numpy as np

from kernels.answers import Certificate
from kernels.certificate.rules import verdict
from kernels.cpu.parallel import elementwise
from kernels.distributed import SingleRank
from kernels.graph import ID, Array, Graph, index_dtype
from kernels.layout.certificate.check import Proof, malformed
from kernels.layout.certificate.constants import BOTH, FORWARD, TURNED
from kernels.layout.certificate.vertices import ClaimedVertices, held_rows, require
from kernels.layout.rules import ArcRules, Edges

RULES = (
    "vertices are those of the previous graph, in their rows, and the new ones, each once, in ascending order",
    "a row's arcs ascend strictly by the id of their neighbour, and are as many as its degree",
    "the in-arcs are the out-arcs reversed, and the graph is directed if its edges are",
    "stored arcs and removed edges are the arcs of the previous graph and the inserted edges",
)


def certify_changes(
    graph: Graph, before: Graph, removed: Edges, put: Edges, new_ids: Array, stated: tuple[ArcRules, Array, Array]
) -> Certificate:
    """Prove that `graph` is `before` after changes.

    Args:
        graph, before: NumPy's arrays or CuPy's, alike.
        removed, put: By ids; each pair is once in either.
        new_ids (int64): Ascending, NumPy's: of the vertices that `before` does not have.
        stated: The rules of the layout, and the out-degrees and in-degrees that are stored, int64 [V], NumPy's.

    Returns:
        The certificate of a malformed graph does not hold; nothing is raised. O(V + A) time.
    """
    return verdict(RULES, _check, graph, before, removed, put, new_ids, stated)


def _check(
    graph: Graph, before: Graph, removed: Edges, put: Edges, new_ids: Array, stated: tuple[ArcRules, Array, Array]
) -> None:
    rules, *degrees = stated
    ranks = SingleRank()
    held = held_rows(graph, ranks)
    sides = [("out", held.out, degrees[0]), ("in", held.into, degrees[1])]
    if held.into is held.out and degrees[1] is degrees[0]:
        sides = sides[:1]
    for name, csr, of_rows in sides:
        require(ranks, malformed(name, csr, held, index_dtype(graph.num_vertices)))
        same = np.array_equal(held.degrees(csr), np.asarray(of_rows, like=held.ids))
        require(ranks, "" if same else f"the stored {name}-degrees are not those of the rows")
    vertices = ClaimedVertices(graph, held, ranks)
    proof = Proof(rules, vertices, held, ranks)
    _require_vertices(graph, vertices.ids, before, new_ids)
    old, role = held_rows(before, ranks), TURNED if rules.both else FORWARD
    require(ranks, malformed("out", old.out, old, index_dtype(before.num_vertices)))
    rows = len(old.out.offsets) - 1
    require(ranks, "" if rows == old.num_own else f"the previous graph has {rows} rows for {old.num_own} vertices")
    alike = _kind(graph) == _kind(before) and rules.both == (graph.into is graph.out)
    require(ranks, "" if alike else "the graph has other weights than before, or is directed where its edges are not")
    here, words = proof.stored_sums(), slice(2)
    there = proof.sums_before(old.out, BOTH if rules.both else FORWARD, here)
    gone, more = (proof.edge_sums(proof.typed(part), role) for part in (removed, put))
    same = np.array_equal((here + gone)[words], (there + more)[words])
    require(ranks, "" if same else "the stored arcs are not those before the changes, without and with the changed edges")


def _kind(graph: Graph) -> str:
    """What the words of weights mean: integers of either width are numbers alike, floats are not."""
    weights = graph.out.weights
    return "" if weights is None else "i" if weights.dtype.kind == "i" else str(weights.dtype)


def _require_vertices(graph: Graph, ids: Array, before: Graph, new_ids: Array) -> None:
    ranks, known = SingleRank(), elementwise(before.ids.take, before.rows_by_id, dtype=ID)
    added = np.asarray(new_ids, like=ids)
    as_before = len(ids) >= len(known) and np.array_equal(graph.ids[: len(known)], before.ids)
    require(ranks, "" if as_before else "the rows of the previous graph have other vertices")
    places = np.searchsorted(ids, added)
    are_there = bool((ids[np.minimum(places, max(len(ids) - 1, 0))] == added).all()) if len(added) else True
    kept = np.ones_like(ids, np.bool_)
    if are_there and len(added):
        kept[places] = False
    same = are_there and np.array_equal(ids[kept], known)
    require(ranks, "" if same else "the vertices are not those of the previous graph and the new ones")
