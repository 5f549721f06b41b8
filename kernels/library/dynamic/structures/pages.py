"""Slotted pages: docs/dynamic-graphs.md describes them."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from kernels.derived import Derived
from kernels.graph import Array, Csr
from kernels.library.dynamic.contract import Batch, BatchRules, Counts, DynamicGraph, Lists, both_arcs
from kernels.library.dynamic.pages import batches
from kernels.library.dynamic.pages.kernels import Located, expand, locate
from kernels.library.dynamic.pages.store import PageStore
from kernels.library.dynamic.values import require_csr


@dataclass
class SlottedPages(DynamicGraph):
    """A graph in a store of pages."""

    parts: ClassVar[str] = "pages"
    store: PageStore
    rules: BatchRules = field(default_factory=BatchRules)
    derived: Derived = field(default_factory=Derived)  # until the next batch; `changed` forgets it after edits of the store

    @classmethod
    def from_csr(cls, csr: Csr, rules: BatchRules, page_size: int = 1024, fill: float = 0.75) -> "SlottedPages":
        """Pages of the rows of a CSR of int32 indices, each filled to a share that leaves words for growth."""
        require_csr(csr)
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

    @property
    def weight_dtype(self) -> np.dtype[Any] | None:
        """Type of the weights; None without weights."""
        return None if self.store.weights is None else self.store.weights.dtype

    @property
    def _like(self) -> Array:
        return self.store.slots

    def _append_rows(self, number: int) -> None:
        self.store.add_vertices(number)
        self.changed()

    def _insert(self, batch: Batch) -> Counts:
        self.changed()
        return batches.insert(self.store, both_arcs(batch) if self.rules.undirected else batch, self.rules.unique)

    def _delete(self, batch: Batch) -> Counts:
        self.changed()
        return batches.delete(self.store, both_arcs(batch) if self.rules.undirected else batch)

    def lists(self, rows: Array) -> Lists:
        """The lists of rows (int32 [n])."""
        return expand(self.store, locate(self.store, rows))

    def csr(self) -> Csr:
        """All lists, in their order."""
        return Csr(*expand(self.store, self.located()))
