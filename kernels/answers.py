"""Answers of the kernels. They contain rows; external ids replace them when a table is written."""

import math
from dataclasses import dataclass, field

from kernels.derived import Derived
from kernels.graph import Array, Csr


@dataclass(frozen=True)
class Paths:
    """Distances from one source, and the tree of predecessors: the answer of `bfs` and `sssp`.

    Attributes
    ----------
    source : int
        Row of the source.
    distance : int64 or float64 [V]
        Hops or sum of weights; UNREACHED (-1) if there is no path.
    predecessor : index width [V]
        Row of the unique predecessor; NO_ROW (-1) for the source and if unreached.
    """

    source: int
    distance: Array
    predecessor: Array


@dataclass(frozen=True)
class Forest:
    """The minimum spanning forest.

    Attributes
    ----------
    src, dst : index width [E]
        Rows of the edge's two vertices; `src` has the smaller external id. Ascending by external ids (src, dst).
    weights : the graph's weight type, or int64 ones [E]
    labels : index width [V]
        For each row, the row of smallest external id in its tree (an isolated vertex is a tree).
    """

    src: Array
    dst: Array
    weights: Array
    labels: Array


@dataclass(frozen=True)
class Components:
    """Weak or strong components.

    Attributes
    ----------
    labels : index width [V]
        For each row, the row of smallest external id in its component.
    """

    labels: Array


@dataclass(frozen=True)
class Condensation:
    """The acyclic graph of the strong components: the answer of `kernels.reachability.condense`.

    A node is a strong component; nodes ascend by the smallest external id of their component.

    Attributes
    ----------
    node : index width [V]
        For each row of the graph, its node.
    names : index width [C]
        For each node, the row of smallest external id in it.
    children, parents : Csr
        Arcs between the C nodes, without weights, self-loops and parallel arcs; the heads of a node's arcs ascend. Each is the
        transpose of the other. Indices have the width of `node`, even if C needs less.
    derived : Derived
        What kernels derived from these arrays, kept as long as the condensation.
    """

    node: Array
    names: Array
    children: Csr
    parents: Csr
    derived: Derived = field(default_factory=Derived, init=False, compare=False, repr=False)

    @property
    def num_nodes(self) -> int:
        """Number of components."""
        return len(self.names)


@dataclass(frozen=True)
class Labels:
    """The reachability labels of a condensation's C nodes in D dimensions; `kernels.reachability` defines them.

    Attributes
    ----------
    method : str
        "tree" or "dfs".
    seed : int
    level, height : int32 [C]
        Number of arcs on the longest path that ends at the node (`level`), and on the longest that starts at it (`height`).
    low, post : index width [D, C]
        Smallest and largest post-order number, from 1, of the node and of all nodes that it reaches; in a backward dimension, of
        all nodes that reach it.
    first, last : index width [D, C]
        Smallest and largest post-order number in the node's subtree; the largest is its own. In dimension 0, a node reaches all
        nodes of its subtree.
    supports : index width [64]
        The node of each bit of `reaches` and `reached`; NO_ROW if the bit is not used.
    reaches, reached : uint64 [C]
        Bit i: the node reaches support i; support i reaches the node. A node reaches itself.
    compared_paths : bool [D]
        Whether method "dfs" found its parents by comparing paths, because sums of sizes would overflow int64.
    """

    method: str
    seed: int
    level: Array
    height: Array
    low: Array
    post: Array
    first: Array
    last: Array
    supports: Array
    reaches: Array
    reached: Array
    compared_paths: tuple[bool, ...]

    @property
    def dimensions(self) -> int:
        """D."""
        return len(self.low)

    def backward(self, dimension: int) -> bool:
        """Whether the dimension labels the reversed graph, in which the interval of a reached node contains the other's."""
        return self.method == "tree" and dimension % 2 == 1


@dataclass(frozen=True)
class ReachabilityIndex:
    """What answers whether a row reaches another: the answer of `kernels.reachability.reachability`.

    Attributes
    ----------
    condensation : Condensation
    labels : Labels
    derived : Derived
        What kernels derived from these arrays, such as the records that queries read; kept as long as the index.
    """

    condensation: Condensation
    labels: Labels
    derived: Derived = field(default_factory=Derived, init=False, compare=False, repr=False)


@dataclass(frozen=True)
class RowLabels:
    """The labels of some rows: the columns of their table.

    Attributes
    ----------
    labels : index width [n]
        For each row, the row of smallest external id in its component.
    level : int32 [n]
    low, post : index width [D, n]
        Of its component.
    """

    labels: Array
    level: Array
    low: Array
    post: Array


@dataclass(frozen=True)
class IndexPart:
    """One rank's part of an index: the answer of `kernels.reachability.sharded.reachability`.

    Attributes
    ----------
    index : ReachabilityIndex
        Of the n own rows (`condensation.node`) and the c own nodes (all other arrays); `supports` has all. Entries are rows and
        nodes of the global graph. The ranks' arrays, concatenated with shifted offsets, are those of a single rank.
    nodes : range
        The own nodes.
    rows : RowLabels
        Of the own rows.
    """

    index: ReachabilityIndex
    nodes: range
    rows: RowLabels


@dataclass(frozen=True)
class Reached:
    """Answers to Q queries, in their order.

    Attributes
    ----------
    reachable : bool [Q]
    decided : uint8 [Q]
        The rule that decided: SAME, FILTER, POSITIVE_CUT or SEARCH of `kernels.reachability`.
    """

    reachable: Array
    decided: Array


@dataclass(frozen=True)
class Witnesses:
    """A path for each of Q queries, between nodes of the condensation.

    Attributes
    ----------
    begins : int64 [Q + 1]
        Where the part of each query begins in `nodes`; it may be longer than the path.
    lengths : int64 [Q]
        Number of nodes, including both ends; 0 if there is no path.
    nodes : index width
    """

    begins: Array
    lengths: Array
    nodes: Array


@dataclass(frozen=True)
class Scores:
    """PageRank scores.

    Attributes
    ----------
    scores : float64 [V]
        They sum to 1.
    iterations : int
        0 where the scores were read from a table, which does not store it.
    change : float
        Sum of the scores' changes in the last iteration; infinite if there was none, or where it is not known.
    """

    scores: Array
    iterations: int = 0
    change: float = math.inf


@dataclass(frozen=True)
class Certificate:
    """The verdict of a one-pass proof.

    Attributes
    ----------
    holds : bool
    reason : str
        The first broken rule, in external ids; empty if the proof holds.
    rules : tuple of str
        The rules that were checked, for the manifest and the report.
    """

    holds: bool
    reason: str
    rules: tuple[str, ...]
