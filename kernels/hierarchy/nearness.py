"""An order of all rows in which rows that follow each other are near each other: which sources' trees are computed together."""

import numpy as np

from kernels.answers import Hierarchy
from kernels.gpu.loader import to_host
from kernels.graph import NO_ROW, Array


def nearness(hierarchy: Hierarchy) -> Array:
    """The place of each row (int64 [V]) in an order of parts within parts, as the hierarchy divides the graph.

    A vertex with all that is below it is a part. What it is directly above is divided from the rest by its higher neighbours. A
    vertex follows the lowest one that is reached from it by steps to the lowest neighbour: those that divide large parts are far
    from each other, and near to what they divide.
    """

    def ranked() -> Array:
        from kernels.hierarchy.cpu import in_preorder

        offsets, others = to_host(hierarchy.up.offsets), to_host(hierarchy.up.others)
        above, lowest = np.full(hierarchy.num_vertices, NO_ROW, np.int64), np.arange(hierarchy.num_vertices)
        has = offsets[1:] > offsets[:-1]
        above[has] = others[offsets[1:][has] - 1]  # the lowest of the higher neighbours
        np.maximum.at(lowest, others, np.repeat(np.arange(hierarchy.num_vertices), np.diff(offsets)))
        while (lowest[lowest] != lowest).any():
            lowest = lowest[lowest]
        places = in_preorder(above)
        followed = np.lexsort((places, places[lowest]))
        places[followed] = np.arange(hierarchy.num_vertices)
        near: Array = places[to_host(hierarchy.positions)]
        return near

    near: Array = hierarchy.derived.get(nearness, ranked)
    return near
