"""A topological order of the nodes of a condensation, on the host: it takes little time compared with writing the pairs."""

import numpy as np

from kernels.answers import Condensation
from kernels.arrays import unsigned
from kernels.components.topological import sort_by_depth
from kernels.gpu.loader import to_host
from kernels.graph import Array


def by_height(nodes: Condensation) -> tuple[Array, Array]:
    """The nodes in ascending order of height, index width [C], and the number of nodes of each height, int64.

    The height of a node is the number of arcs on the longest path that begins at it, so its children are below it.
    """
    waiting = to_host(np.diff(nodes.children.offsets)).astype(nodes.names.dtype)
    order, height = np.empty_like(waiting), np.zeros_like(waiting)
    sort_by_depth(unsigned(to_host(nodes.parents.offsets)), unsigned(to_host(nodes.parents.indices)), waiting, height, order)
    return order, np.bincount(height)
