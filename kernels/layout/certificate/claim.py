"""What is to be proved of a stored graph beside its arrays."""

from dataclasses import dataclass

from kernels.graph import Array
from kernels.layout.rules import Edges


@dataclass(frozen=True)
class Claim:
    """What a stored graph and its layout state."""

    # vertices, arcs, self_loops_dropped, arcs_added, parallel_arcs_dropped: as in `pipeline.store.facts.GraphFacts`, of the whole
    # graph.
    vertices: int
    arcs: int
    self_loops_dropped: int
    arcs_added: int
    parallel_arcs_dropped: int
    # out_degrees, in_degrees: int64 [n]: of this rank's rows.
    out_degrees: Array
    in_degrees: Array
    dropped: Edges  # edges that were dropped because a parallel one is no heavier; each on one rank, in any order
