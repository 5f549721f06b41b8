"""One rank's part of the forest of one dimension."""

from dataclasses import dataclass, field

import numpy as np

from kernels.graph import Array
from kernels.reachability.sharded.schedule import ScheduledDag


@dataclass
class NumberedForest:
    """The forest of one dimension by method "tree", and the numbers and intervals that it gives to the n own nodes."""

    direction: ScheduledDag
    numbers: Array  # index width [n + g]: nodes of the global DAG, which has `num_nodes`, for own nodes and ghosts
    num_nodes: int
    num_own: int
    # ascending, salt: whether heads are visited in ascending order, as in dimension 0; otherwise the salt of the dimension's
    # keys.
    ascending: bool
    salt: np.uint64
    parent: Array  # index width [n + g]: local nodes; NO_ROW for roots, and for ghosts whose parents other ranks own
    # size, before: index width [n + g]: sizes of subtrees, and of those of the siblings that are visited before.
    size: Array
    before: Array
    # first, last, low, post: index width [n + g]: as in `kernels.answers.Labels`, of the own nodes.
    first: Array
    last: Array = field(init=False)
    low: Array = field(init=False)
    post: Array = field(init=False)
