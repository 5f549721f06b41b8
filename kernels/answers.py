"""Answers of the kernels. They contain rows; external ids replace them when a table is written."""

import math
from dataclasses import field

from kernels.derived import Derived
from kernels.graph import Array, Csr
from kernels.records import dataclass


@dataclass(frozen=True)
class Paths:
    """Distances from one source, and the tree of predecessors: the answer of `bfs` and `sssp`."""

    source: int  # row of the source
    distance: Array  # int64 or float64 [V]: hops or sum of weights; UNREACHED (-1) if there is no path
    predecessor: Array  # index width [V]: row of the unique predecessor; NO_ROW (-1) for the source and if unreached


@dataclass(frozen=True)
class Forest:
    """The minimum spanning forest."""

    # src, dst: index width [E]: rows of the edge's two vertices; `src` has the smaller external id. Ascending by external ids
    # (src, dst).
    src: Array
    dst: Array
    weights: Array  # the graph's weight type, or int64 ones [E]
    labels: Array  # index width [V]: for each row, the row of smallest external id in its tree (an isolated vertex is a tree)


@dataclass(frozen=True)
class Components:
    """Weak or strong components, or communities."""

    # index width [V]: for each row, the row of smallest external id in its component; with `cdlp` the row whose label it has
    labels: Array


@dataclass(frozen=True)
class Condensation:
    """The acyclic graph of the strong components: the answer of `kernels.reachability.condense`.

    A node is a strong component; nodes ascend by the smallest external id of their component.
    """

    node: Array  # index width [V]: for each row of the graph, its node
    names: Array  # index width [C]: for each node, the row of smallest external id in it
    # children, parents: arcs between the C nodes, without weights, self-loops and parallel arcs; the heads of a node's arcs
    # ascend. Each is the transpose of the other. Indices have the width of `node`, even if C needs less.
    children: Csr
    parents: Csr
    # What kernels derived from these arrays, kept as long as the condensation.
    derived: Derived = field(default_factory=Derived, init=False, compare=False, repr=False)

    @property
    def num_nodes(self) -> int:
        """Number of components."""
        return len(self.names)


@dataclass(frozen=True)
class Labels:
    """The reachability labels of a condensation's C nodes in D dimensions; `kernels.reachability` defines them."""

    method: str  # "tree" or "dfs"
    seed: int
    # level, height: int32 [C]: number of arcs on the longest path that ends at the node (`level`), and on the longest that starts
    # at it (`height`).
    level: Array
    height: Array
    # low, post: index width [D, C]: smallest and largest post-order number, from 1, of the node and of all nodes that it reaches;
    # in a backward dimension, of all nodes that reach it.
    low: Array
    post: Array
    # first, last: index width [D, C]: smallest and largest post-order number in the node's subtree; the largest is its own. In
    # dimension 0, a node reaches all nodes of its subtree.
    first: Array
    last: Array
    supports: Array  # index width [64]: the node of each bit of `reaches` and `reached`; NO_ROW if the bit is not used
    # reaches, reached: uint64 [C]: bit i: the node reaches support i; support i reaches the node. A node reaches itself.
    reaches: Array
    reached: Array
    # bool [D]: whether method "dfs" found its parents by comparing paths, because sums of sizes would overflow int64.
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
    """What answers whether a row reaches another: the answer of `kernels.reachability.reachability`."""

    condensation: Condensation
    labels: Labels
    # What kernels derived from these arrays, such as the records that queries read; kept as long as the index.
    derived: Derived = field(default_factory=Derived, init=False, compare=False, repr=False)


@dataclass(frozen=True)
class RowLabels:
    """The labels of some rows: the columns of their table."""

    labels: Array  # index width [n]: for each row, the row of smallest external id in its component
    level: Array  # int32 [n]
    # low, post: index width [D, n]: of its component.
    low: Array
    post: Array


@dataclass(frozen=True)
class IndexPart:
    """One rank's part of an index: the answer of `kernels.reachability.sharded.reachability`."""

    # Of the n own rows (`condensation.node`) and the c own nodes (all other arrays); `supports` has all. Entries are rows and
    # nodes of the global graph. The ranks' arrays, concatenated with shifted offsets, are those of a single rank.
    index: ReachabilityIndex
    nodes: range  # the own nodes
    rows: RowLabels  # of the own rows


@dataclass(frozen=True)
class Reached:
    """Answers to Q queries, in their order."""

    reachable: Array  # bool [Q]
    decided: Array  # uint8 [Q]: the rule that decided: SAME, FILTER, POSITIVE_CUT or SEARCH of `kernels.reachability`


@dataclass(frozen=True)
class Witnesses:
    """A path for each of Q queries, between nodes of the condensation."""

    begins: Array  # int64 [Q + 1]: where the part of each query begins in `nodes`; it may be longer than the path
    lengths: Array  # int64 [Q]: number of nodes, including both ends; 0 if there is no path
    nodes: Array  # index width


@dataclass(frozen=True)
class Scores:
    """PageRank scores."""

    scores: Array  # float64 [V]: they sum to 1
    iterations: int = 0  # 0 where the scores were read from a table, which does not store it
    # Sum of the scores' changes in the last iteration; infinite if there was none, or where it is not known.
    change: float = math.inf


@dataclass(frozen=True)
class Ranking:
    """PageRank scores of a surfer who jumps to one seed."""

    seed: int  # row of the seed
    scores: Array  # float64 [V]: they sum to 1


@dataclass(frozen=True)
class Betweenness:
    """Betweenness of all rows."""

    betweenness: Array  # float64 [V]
    sources: int = 0  # number of sources that were added; 0 where it was read from a table, which does not store it


@dataclass(frozen=True)
class EdgeBetweenness:
    """Betweenness of E edges, ascending by the external ids of `src`, then of `dst`."""

    src: Array  # index width [E]: the row of the smaller external id, if edges have no direction
    dst: Array  # index width [E]
    betweenness: Array  # float64 [E]
    sources: int = 0  # as in Betweenness


@dataclass(frozen=True)
class TriangleCounts:
    """Triangles at all rows."""

    triangles: Array  # int64 [V]: how many the row is a corner of


@dataclass(frozen=True)
class Clustering:
    """Local clustering coefficients of all rows."""

    numerator: Array  # int64 [V]: arcs from a neighbour of the row to another
    denominator: Array  # int64 [V]: ordered pairs of its neighbours
    lcc: Array  # float64 [V]: their quotient, rounded once; 0 without pairs


@dataclass(frozen=True)
class Closure:
    """The transitive closure: P pairs of rows, ascending by the external ids of both."""

    vertex: Array  # index width [P]
    reached: Array  # index width [P]: a row to which a path of one arc or more leads from `vertex`; itself where it is on a cycle


@dataclass(frozen=True)
class Flows:
    """Maximum flows between Q pairs of rows, with their minimum cuts nearest the source."""

    src: Array  # index width [Q]
    dst: Array  # index width [Q]
    # value: int64, or float64 if the weights are floats [Q]: of a maximum flow; a float is rounded once.
    value: Array
    vertices: Array  # int64 [Q]: how many vertices the cut leaves on the side of the source
    cut_begins: Array  # int64 [Q + 1]: where the cut of each pair begins in `cut_src` and `cut_dst`
    # cut_src, cut_dst: index width: the ends of the arcs of the cut that have a capacity, ascending by their external ids.
    cut_src: Array
    cut_dst: Array
    # The flow of each pair, which is not unique: from `flow_begins` [Q + 1] on, the places of its arcs in `graph.out`, ascending,
    # and what they carry, in units of `kernels.flow.capacities`; all int64.
    flow_begins: Array
    flow_arcs: Array
    amounts: Array


@dataclass(frozen=True)
class Certificate:
    """The verdict of a one-pass proof."""

    holds: bool
    reason: str  # the first broken rule, in external ids; empty if the proof holds
    rules: tuple[str, ...]  # the rules that were checked, for the manifest and the report


@dataclass(frozen=True)
class HierarchyArcs:
    """One direction of a hierarchy: for each position the arcs to or from higher vertices, which have smaller positions."""

    offsets: Array  # int64 [V + 1]: position p has the arcs `offsets[p]:offsets[p + 1]`
    others: Array  # index width [A]: position of the other end; ascending within a position, and each once
    weights: Array  # int64 or float64 [A]: of a shortcut the sum of its two arcs
    middles: Array  # index width [A]: position of the vertex that a shortcut passes, larger than both ends; -1: no shortcut
    originals: Array  # int64 [A]: number of the arc in `graph.out`; -1 for a shortcut


@dataclass(frozen=True)
class Hierarchy:
    """Levels and shortcuts of a graph with V vertices: the answer of `kernels.hierarchy.build_hierarchy`, which explains them."""

    rows: Array  # index width [V]: the row of each position; positions ascend from the highest level to the lowest
    positions: Array  # index width [V]: the position of each row
    # int64 [L + 1]: level l, counted from the highest, has the positions `level_starts[l]:level_starts[l + 1]`. No arc connects
    # two of them.
    level_starts: Array
    up: HierarchyArcs  # from each position to higher vertices
    # To each position from higher vertices. The same object as `up` if the graph is symmetric: `originals` then are the reverse
    # arcs.
    down: HierarchyArcs
    exact: bool  # whether no sum of weights rounds, so that distances by shortcuts are those of `sssp`; true of integers
    # What kernels derived from these arrays, kept as long as the hierarchy.
    derived: Derived = field(default_factory=Derived, init=False, compare=False, repr=False)

    @property
    def num_vertices(self) -> int:
        """V."""
        return len(self.rows)

    @property
    def num_levels(self) -> int:
        """L."""
        return len(self.level_starts) - 1

    @property
    def symmetric(self) -> bool:
        """Whether the arcs that enter a position are those that leave it."""
        return self.down is self.up
