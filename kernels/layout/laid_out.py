"""What a rank has of a graph that was laid out."""

from dataclasses import dataclass

from kernels.cpu.parallel import differences, elementwise
from kernels.graph import Array, Csr
from kernels.layout.rows import take_rows
from kernels.layout.rules import Edges


@dataclass(frozen=True)
class LaidOut:
    """A rank's rows of the graph, with stored or dealt numbers, in parts of consecutive rows."""

    bounds: Array  # int64 [P + 1]: part p of the graph has the rows `bounds[p]:bounds[p + 1]`; always a NumPy array
    parts: range  # the parts of this rank: all of a single rank's, otherwise part r of rank r
    ids: Array  # int64 [n]: external ids of the own rows
    positions: Array  # index width [n]: their positions in the ascending order of all external ids
    first_position: int  # where this rank's slice of all rows in the order of their ids begins
    rows_by_id: Array  # index width [k]: that slice. Concatenated over the ranks it is `Graph.rows_by_id`.
    directions: dict[str, Csr]  # arcs by direction: "out", and "in" unless the graph is symmetric. `take` gives their rows.
    directed: bool  # as `kernels.graph.Graph.directed`
    by_position: bool  # whether rows and indices of the directions are still positions, of the whole graph
    self_loops: int  # number of edges, of all ranks, that are self-loops
    dropped: list[Edges]  # edges that were dropped because a parallel one is no heavier, each on one rank

    @property
    def num_vertices(self) -> int:
        """Number of vertices of the graph."""
        return int(self.bounds[-1])

    def rows(self, part: int) -> range:
        """The rows of a part."""
        return range(int(self.bounds[part]), int(self.bounds[part + 1]))

    def degrees(self, direction: str) -> Array:
        """Numbers of arcs of the own rows, int64 [n]; "in" of a symmetric graph is "out"."""
        degrees = differences(self.directions.get(direction, self.directions["out"]).offsets)
        if not self.by_position:
            return degrees
        return elementwise(lambda positions: degrees[positions], self.positions, dtype=degrees.dtype)

    def take(self, part: int, direction: str) -> Csr:
        """The arcs of one of this rank's parts, made now if a single rank has them by position; indices are rows."""
        csr, rows = self.directions[direction], self.rows(part)
        return take_rows(csr, self.positions[rows.start : rows.stop], self.rows_by_id) if self.by_position else csr
