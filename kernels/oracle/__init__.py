"""The second solver: an answer is compared with one that shares no line with ours, SciPy's, or cuGraph's for a graph on a GPU."""

from __future__ import annotations

from dataclasses import is_dataclass, replace
from importlib.util import find_spec
from typing import Any

from kernels.answers import Certificate
from kernels.arrays import is_cupy
from kernels.certificate.rules import verdict
from kernels.gpu.loader import device_count, to_host
from kernels.graph import Graph


def solves_on_gpu(num_arcs: int) -> bool:
    """Whether there is a second solver for such a graph on a GPU: cuGraph is installed, and there are arcs, which it needs."""
    return num_arcs > 0 and device_count() > 0 and find_spec("pylibcugraph") is not None


def oracle(graph: Graph, stage: str, answer: Any) -> Certificate:
    """Compare an answer with the second solver's.

    Parameters
    ----------
    graph : Graph
        Its arrays choose the solver: SciPy for NumPy's, cuGraph for CuPy's.
    stage : {"bfs", "sssp", "mst", "wcc", "scc", "pagerank", "reachability"}
        The last for NumPy's arrays alone.
    answer : Paths, Forest, Components, float64 [V] or ReachabilityIndex
        What the stage returned, on either backend. A malformed one does not hold; nothing is raised.

    Returns
    -------
    Certificate
        `rules` names the solver's function, `reason` the first vertex or edge that differs.
    """
    if is_cupy(graph):
        from kernels.oracle.by_cugraph import STAGES
    else:
        from kernels.oracle.by_scipy import STAGES
    rule, check = STAGES[stage]
    return verdict((rule,), check, graph, _on_host(answer))


def _on_host(answer: Any) -> Any:
    if is_dataclass(answer) and not isinstance(answer, type):
        return replace(answer, **{name: to_host(value) for name, value in vars(answer).items()})
    return to_host(answer)
