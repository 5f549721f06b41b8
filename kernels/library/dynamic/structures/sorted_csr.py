"""What structures with sorted rows share."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from kernels.graph import OFFSET, Array, Csr
from kernels.library.dynamic.arrays import ones
from kernels.library.dynamic.contract import BatchRules, DynamicGraph, Lists, lists_of_rows
from kernels.library.dynamic.values import require_ascending


@dataclass
class SortedCsr(DynamicGraph):
    """A CSR of int32 indices that ascend within each row; subclasses insert and delete."""

    rows: Csr
    rules: BatchRules = field(default_factory=BatchRules)
    parts: ClassVar[str] = "rows"

    def __post_init__(self) -> None:
        """Refuse rows that do not ascend: arcs are looked for by binary search."""
        require_ascending(self.rows, distinct=False)

    @property
    def num_rows(self) -> int:
        """One more than the largest vertex."""
        return len(self.rows.offsets) - 1

    @property
    def num_arcs(self) -> int:
        """Stored arcs."""
        return len(self.rows.indices)

    def exists(self) -> Array:
        """All rows are vertices."""
        return ones(self.num_rows, np.bool_, self.rows.offsets)

    @property
    def weight_dtype(self) -> np.dtype[Any] | None:
        """Type of the weights; None without weights."""
        return None if self.rows.weights is None else self.rows.weights.dtype

    @property
    def _like(self) -> Array:
        return self.rows.offsets

    def _append_rows(self, number: int) -> None:
        more = np.zeros(number, OFFSET, like=self.rows.offsets) + self.rows.offsets[-1]
        self.rows = Csr(np.concatenate([self.rows.offsets, more]), self.rows.indices, self.rows.weights)

    def lists(self, rows: Array) -> Lists:
        """The arcs of rows (int32 [n])."""
        return lists_of_rows(self.rows, rows)

    def csr(self) -> Csr:
        """The arcs."""
        return self.rows
