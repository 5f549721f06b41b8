"""An order of all rows in which rows that follow each other are near each other: which sources' trees are computed together."""

import numpy as np

from kernels.answers import Hierarchy
from kernels.gpu.loader import to_host
from kernels.graph import NO_ROW, Array


def nearness(hierarchy: Hierarchy) -> Array:
    """The place of each row (int64 [V]) in an order of parts within parts, as the hierarchy divides the graph.

    A vertex with all that is below it is a part. What it is directly above is divided from the rest by its higher neighbours.
    """

    def ranked() -> Array:
        from kernels.hierarchy.cpu import in_preorder

        offsets, others = to_host(hierarchy.up.offsets), to_host(hierarchy.up.others)
        above = np.full(hierarchy.num_vertices, NO_ROW, np.int64)
        has = offsets[1:] > offsets[:-1]
        above[has] = others[offsets[1:][has] - 1]  # the lowest of the higher neighbours
        places: Array = in_preorder(above)[to_host(hierarchy.positions)]
        return places

    found: Array = hierarchy.derived.get(nearness, ranked)
    return found
