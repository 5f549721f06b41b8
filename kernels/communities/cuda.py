"""Communities of a graph on the GPU, computed on the host's cores."""

import numpy as np

from kernels.answers import Components
from kernels.communities import cpu
from kernels.gpu.transfer import on_host
from kernels.graph import Graph


def solve(graph: Graph) -> Components:
    """Answer `kernels.communities.communities` on CuPy arrays."""
    return Components(np.asarray(cpu.solve(on_host(graph)).labels, like=graph.rows_by_id))
