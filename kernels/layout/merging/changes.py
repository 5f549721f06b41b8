"""Changes of arcs, and where they belong."""

from typing import Any

import numpy as np

from kernels.graph import Array
from kernels.records import dataclass

DELETE, UPDATE, INSERT = -1, 0, 1  # kinds of changes: the number by which the arcs become more
KIND = np.dtype(np.int8)


@dataclass(frozen=True)
class Changes:
    """Changes of arcs in ascending order of (row, position of the head, kind)."""

    rows: Array  # the CSR's index type [C]: tails
    heads: Array  # the CSR's index type [C]
    kinds: Array  # int8 [C]: DELETE, UPDATE or INSERT
    weights: Array | None  # the CSR's weights' type [C]; not read for DELETE
    order: Array  # integer [C]: where each change was before it was sorted

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, kept: Any) -> "Changes":
        """The changes of ascending places, or where a mask is true."""
        weights = None if self.weights is None else self.weights[kept]
        return Changes(self.rows[kept], self.heads[kept], self.kinds[kept], weights, self.order[kept])


@dataclass(frozen=True)
class Places:
    """Where changes belong among the arcs of a CSR."""

    places: Array  # int64 [C], ascending: the arc that is deleted or updated, or before which one is inserted
    exist: Array  # bool [C]: whether the CSR has the arc; the k-th deletion of parallel arcs finds the k-th of them

    def __getitem__(self, kept: Any) -> "Places":
        """The places of the same changes."""
        return Places(self.places[kept], self.exist[kept])
