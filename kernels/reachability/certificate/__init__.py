"""Proof of a reachability index: every node looks at its own rows, and no label can differ from the one that is defined.

The condensation is proved by the certificate of strong components, and by a look at every arc: an arc between two components is
among the children, and every child has such an arc. What the labels say then follows node by node, since the DAG has no cycle: a
level from the levels of the parents, an interval from the node's own number and the children's intervals, a word of bits from the
children's words. The numbers themselves are proved as blocks: the roots' blocks are 1 to C one after the other, and each node's
block is its children's in the order of their visits, then the node's own number, so that each number is given once.

* "tree": the children are those that draw the node for a parent.
* "dfs": an arc's head is a child if its block begins where the last child's ends; otherwise the head was visited before, and its
  number is smaller. A depth-first search that is replayed from these blocks visits every node as they say.

So on every arc the intervals contain each other, the levels ascend and the bits are handed on: no cut denies a path. A block is a
subtree, and a bit has a path behind it: no cut invents one (Yıldırım, Chaoji, Zaki, PVLDB 2010).
"""

from __future__ import annotations

from typing import Any

from kernels.answers import Certificate, ReachabilityIndex
from kernels.arrays import is_cupy
from kernels.certificate.rules import verdict
from kernels.graph import Graph
from kernels.scc.certificate import RULES as SCC_RULES

REACHABILITY_RULES = (
    *SCC_RULES,
    "nodes ascend by the smallest external ids of their components",
    "children are the arcs between components, each once, and parents their transpose",
    "a level is one more than the largest level of a parent, a height than that of a child",
    "the blocks of the roots, and of the children before their parent, follow one another as they are visited",
    "low and post are the extremes of a node's own number and of its children's intervals",
    "supports are the best-connected nodes of their bands",
    "a node reaches the supports that its children reach, and is reached by those that reach its parents",
)


def certify_reachability(graph: Graph, index: ReachabilityIndex) -> Certificate:
    """Prove that `index` is the one that kernels/reachability/__init__.py defines, for its method, seed and dimensions.

    O(V + A + D (C + M)) time for M arcs between C nodes; O(V + M) memory a core. Malformed answers do not hold.
    """
    return verdict(REACHABILITY_RULES, _backend(graph).check, graph, index)


def _backend(graph: Graph) -> Any:
    if is_cupy(graph):
        from kernels.reachability.certificate import cuda

        return cuda
    from kernels.reachability.certificate import cpu

    return cpu
