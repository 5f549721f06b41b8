"""The graph for a user's functions, which cannot change it for anyone else."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from kernels.arrays import frozen
from kernels.graph import Csr, Graph
from pipeline.cluster.protocol import TaskContext
from pipeline.store.counting import stated_graph
from pipeline.store.manifest import Folder


@contextmanager
def lent(graph: Folder, context: TaskContext) -> Iterator[Graph]:
    """A stored graph, while no other task of this process uses its GPU; what operators derive from it lives as long as this.

    Its weights are those of the source. On a CPU its arrays are read-only. Those on a GPU never are; there the graph is opened
    again for whoever needs it next.
    """
    held = stated_graph(graph, context.whole_graph(graph).graph)
    try:
        with context.turn():
            yield replace(held) if context.backend == "gpu" else _read_only(held)
    finally:
        if context.backend == "gpu":
            context.open_graphs.forget()


def _read_only(graph: Graph) -> Graph:
    out = _frozen(graph.out)
    into = out if graph.symmetric else _frozen(graph.into)
    return replace(graph, ids=frozen(graph.ids), rows_by_id=frozen(graph.rows_by_id), out=out, into=into)


def _frozen(csr: Csr) -> Csr:
    return Csr(frozen(csr.offsets), frozen(csr.indices), None if csr.weights is None else frozen(csr.weights))
