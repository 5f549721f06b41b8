"""What structures with sorted rows share."""

from dataclasses import dataclass, field

import numpy as np

from kernels.dynamic.arrays import ones
from kernels.dynamic.contract import Lists, Rules, lists_of_rows
from kernels.graph import OFFSET, Array, Csr


@dataclass
class SortedCsr:
    """A CSR of int32 indices that ascend within each row; subclasses insert and delete."""

    rows: Csr
    rules: Rules = field(default_factory=Rules)

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

    def add_vertices(self, number: int) -> None:
        """Add rows without arcs."""
        more = np.zeros(number, OFFSET, like=self.rows.offsets) + self.rows.offsets[-1]
        self.rows = Csr(np.concatenate([self.rows.offsets, more]), self.rows.indices, self.rows.weights)

    def advance(self, rows: Array) -> Lists:
        """The arcs of rows (int32 [n])."""
        return lists_of_rows(self.rows, rows)

    def csr(self) -> Csr:
        """The arcs."""
        return self.rows
