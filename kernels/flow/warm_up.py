"""A call of everything that Numba compiles for flows."""

from kernels.flow import max_flow
from kernels.flow.certificate import certify_flows
from kernels.graph import Graph


def warm_up(graph: Graph) -> None:
    """Solve for the first pair of rows, and prove it."""
    certificate = certify_flows(graph, max_flow(graph, graph.rows_by_id[:1], graph.rows_by_id[1:2]))
    assert certificate.holds, certificate.reason
