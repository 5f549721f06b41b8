"""Slotted pages: docs/dynamic-graphs.md describes them."""

from dataclasses import dataclass, field

import numpy as np

from kernels.derived import Derived
from kernels.dynamic.contract import Batch, Counts, Lists, Rules, both_arcs
from kernels.dynamic.pages import batches
from kernels.dynamic.pages.kernels import Located, expand, locate
from kernels.dynamic.pages.store import PageStore
from kernels.graph import Array, Csr


@dataclass
class SlottedPages:
    """A graph in a store of pages."""

    store: PageStore
    rules: Rules = field(default_factory=Rules)
    derived: Derived = field(default_factory=Derived)  # until the next batch; `changed` forgets it after edits of the store

    @classmethod
    def from_csr(cls, csr: Csr, rules: Rules, page_size: int = 1024, fill: float = 0.75) -> "SlottedPages":
        """Pages of the rows of a CSR of int32 indices, each filled to a share that leaves words for growth."""
        vertices = np.arange(len(csr.offsets) - 1, dtype=np.int32, like=csr.offsets)
        return cls(PageStore.from_lists(vertices, csr, page_size, fill), rules)

    @property
    def num_rows(self) -> int:
        """One more than the largest vertex."""
        return self.store.num_rows

    @property
    def num_arcs(self) -> int:
        """Stored arcs."""
        return int(self.located().degrees.sum())

    def exists(self) -> Array:
        """Whether each row is a vertex: bool [num_rows]."""
        return self.located().pages >= 0

    def located(self) -> Located:
        """Where the lists of all rows are; found once after each change."""
        rows = np.arange(self.num_rows, dtype=np.int32, like=self.store.slots)
        return self.derived.get(locate, lambda: locate(self.store, rows))

    def changed(self) -> None:
        """Forget what was derived from the pages."""
        self.derived = Derived()

    def add_vertices(self, number: int) -> None:
        """Add vertices in new pages."""
        self.store.add_vertices(number)
        self.changed()

    def insert(self, batch: Batch) -> Counts:
        """Insert arcs."""
        self.changed()
        return batches.insert(self.store, both_arcs(batch) if self.rules.undirected else batch, self.rules.unique)

    def delete(self, batch: Batch) -> Counts:
        """Delete arcs."""
        self.changed()
        return batches.delete(self.store, both_arcs(batch) if self.rules.undirected else batch)

    def advance(self, rows: Array) -> Lists:
        """The lists of rows (int32 [n])."""
        return expand(self.store, locate(self.store, rows))

    def csr(self) -> Csr:
        """All lists, in their order."""
        return Csr(*expand(self.store, self.located()))
