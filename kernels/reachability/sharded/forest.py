"""One rank's part of the forest of one dimension."""

from dataclasses import dataclass, field

import numpy as np

from kernels.graph import Array
from kernels.reachability.sharded.schedule import Direction


@dataclass
class Forest:
    """The forest of one dimension by method "tree", and the numbers and intervals that it gives to the n own nodes.

    Attributes
    ----------
    direction : Direction
    numbers : index width [n + g]
        Nodes of the global DAG, which has `num_nodes`, for own nodes and ghosts.
    ascending, salt
        Whether heads are visited in ascending order, as in dimension 0; otherwise the salt of the dimension's keys.
    parent : index width [n + g]
        Local nodes; NO_ROW for roots, and for ghosts whose parents other ranks own.
    size, before : index width [n + g]
        Sizes of subtrees, and of those of the siblings that are visited before.
    first, last, low, post : index width [n + g]
        As in `kernels.answers.Labels`, of the own nodes.
    """

    direction: Direction
    numbers: Array
    num_nodes: int
    num_own: int
    ascending: bool
    salt: np.uint64
    parent: Array
    size: Array
    before: Array
    first: Array
    last: Array = field(init=False)
    low: Array = field(init=False)
    post: Array = field(init=False)
