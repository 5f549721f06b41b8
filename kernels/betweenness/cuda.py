"""Betweenness of a graph on the GPU, computed on the host's cores."""

from dataclasses import replace

import numpy as np

from kernels.answers import Betweenness
from kernels.betweenness import cpu
from kernels.betweenness.parameters import Parameters
from kernels.gpu.transfer import on_host
from kernels.graph import Graph


def solve(graph: Graph, parameters: Parameters) -> Betweenness:
    """Answer `kernels.betweenness.betweenness` on CuPy arrays."""
    found = cpu.solve(on_host(graph), parameters)
    return replace(found, betweenness=np.asarray(found.betweenness, like=graph.ids))
