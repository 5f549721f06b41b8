"""The certificate of flows of a graph on a GPU: pairs are checked on the host's cores, which share no code with the solver."""

from kernels.answers import Flows
from kernels.flow.certificate import cpu
from kernels.gpu.transfer import on_host
from kernels.graph import Graph


def check(graph: Graph, flows: Flows) -> None:
    """As `cpu.check`; the graph's copy on the host is kept with it."""
    cpu.check(graph.derived.get(check, lambda: on_host(graph)), flows)
