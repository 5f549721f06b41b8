"""Proof of a reachability index: rules about each node and its neighbours, which only the labels as defined satisfy.

The condensation is proved by the certificate of strong components, and by reading every arc: an arc between two components is
among the children, and every child has such an arc. As the DAG has no cycle, the labels then follow node by node: a level from
those of the parents, an interval from the node's own number and the children's intervals, a word of bits from the children's
words. The numbers are proved as blocks: the roots' blocks are consecutive from 1 to C, and each node's block consists of its
children's blocks in the order of visits and then the node's own number. So each number is given once.

* "tree": the children are the nodes that draw the node as their parent.
* "dfs": the head of an arc is a child if its block begins where the last child's block ends; otherwise the head was visited
  before, and its number is smaller. A depth-first search that follows these blocks visits every node in the stated order.

Hence on every arc one interval contains the other, the levels ascend and the bits are passed on: no cut denies an existing path.
A block is a subtree, and a bit stands for a path: no cut asserts a path that does not exist (Yıldırım, Chaoji, Zaki, PVLDB 2010).
"""

from typing import Any

from kernels.answers import Certificate, ReachabilityIndex
from kernels.arrays import is_cupy
from kernels.certificate.rules import verdict
from kernels.graph import Graph
from kernels.scc.certificate import RULES as SCC_RULES

REACHABILITY_RULES = (
    *SCC_RULES,
    "nodes ascend by the smallest external ids of their components",
    "children are the arcs between components without copies, and parents their transpose",
    "a level is one more than the largest level of a parent, and a height one more than the largest height of a child",
    "the blocks of the roots, and those of the children of a node and then its number, are consecutive in the order of visits",
    "low and post are the extremes of a node's own number and of its children's intervals",
    "supports are the best-connected nodes of their bands",
    "a node reaches the supports that its children reach, and is reached by those that reach its parents",
)


def certify_reachability(graph: Graph, index: ReachabilityIndex) -> Certificate:
    """Prove that `index` is the one that kernels/reachability/__init__.py defines, for its method, seed and dimensions.

    O(V + A + D (C + M)) time for M arcs between C nodes; O(V + M) memory per core. The certificate of a malformed answer does not
    hold.
    """
    return verdict(REACHABILITY_RULES, _backend(graph).check, graph, index)


def _backend(graph: Graph) -> Any:
    if is_cupy(graph):
        from kernels.reachability.certificate import cuda

        return cuda
    from kernels.reachability.certificate import cpu

    return cpu
