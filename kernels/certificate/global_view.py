"""Global view of a graph held by several ranks: the entry of any row, and the first row of all ranks that breaks a rule.

The ranks raise Broken together, so that no rank is left waiting, and with the same reason. So a certificate over shards is the
same on all ranks, and that of a single rank for the graph with its rows in this order: rows ascend with the ranks, so the first
row that breaks a rule belongs to the first rank that found one. The certificate of a malformed answer does not hold.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from kernels.arrays import frozen, is_cupy_array
from kernels.certificate.rules import Broken, label_astray, label_greater, outside, require_form
from kernels.distributed import Communicator, Owners, Shard
from kernels.graph import NO_ROW, Array

Result = TypeVar("Result")


class DistributedArray:
    """An array with an entry for each row; each rank holds the entries of its own rows. Reading is collective."""

    def __init__(self, rows: Owners, own: Array):
        self._rows, self._own = rows, own

    def __getitem__(self, one: slice) -> Array:
        """The entry of one row, on every rank."""
        here = max(one.start - self._rows.start, 0) if one.start < self._rows.stop else len(self._own)
        mine = self._own[here : here + 1] if one.start >= self._rows.start else self._own[:0]
        return np.concatenate(self._rows.communicator.gather(mine))


class GlobalView:
    """One rank's access to the data of all ranks. The methods are collective.

    Attributes:
        ids: External ids of all rows.
    """

    def __init__(self, shard: Shard, communicator: Communicator):
        self.shard, self.communicator = shard, communicator
        self.rows = Owners(shard.bounds, communicator)
        self.ids = self.spread(shard.ids)
        self.num_vertices = shard.num_vertices

    def spread(self, own: Array) -> DistributedArray:
        """The array of all ranks' `own` [n]."""
        return DistributedArray(self.rows, own)

    def together(self, check: Callable[[], Result]) -> Result:
        """Return `check()`; if it raises Broken on some ranks, raise it on all, with the first one's reason."""
        reason = ""
        try:
            checked = check()
        except Broken as broken:
            reason = str(broken)
        self.require(reason)
        return checked

    def require(self, reason: str) -> None:
        """Raise Broken on all ranks, for the first rank's `reason` that is not empty."""
        for of_rank in self.communicator.gather(np.array(list(reason.encode()), np.uint8)):
            if len(of_rank):
                raise Broken(bytes(of_rank).decode())

    def any(self, here: bool) -> bool:
        """Whether `here` is true on any rank."""
        return self.communicator.any(here)

    def sum(self, here: int) -> int:
        """The sum of all ranks' `here`."""
        return self.communicator.sum(here)

    def first(self, *evidence: Array, key: Array | None = None) -> list[Array]:
        """What the first rank that found something found; nothing if none did.

        Args:
            evidence (arrays of one entry or a few): Empty where the rank found nothing.
            key ([K]): If given, the rank with the least key is the first, instead of the order of ranks.
        """
        keys = self.communicator.gather(evidence[0][:1] if key is None else key)
        finders = [rank for rank, of_rank in enumerate(keys) if len(of_rank)]
        if not finders:
            return []
        finder = finders[0] if key is None else min(finders, key=lambda rank: list(keys[rank].tolist()))
        mine = slice(None if finder == self.communicator.rank else 0)
        return [np.concatenate(self.communicator.gather(array[mine])) for array in evidence]

    def first_row(self, wrong: Array) -> int:
        """The first row of all ranks where `wrong`, bool [n], is true; NO_ROW if there is none."""
        first_rows = self.first(np.flatnonzero(wrong)[:1] + self.rows.start)
        return int(first_rows[0][0]) if first_rows else NO_ROW

    def form(self, name: str, array: Any, length: int, dtype: np.dtype[Any]) -> Array:
        """Frozen `array`, or Broken unless it is an array of this length and type on every rank."""
        kind = type(self.shard.ghosts) if is_cupy_array(self.shard.ghosts) else np.ndarray
        own = self.together(lambda: require_form(name, array, length, dtype, kind))
        own = own if own.flags.c_contiguous else own.copy()
        return own if is_cupy_array(own) else frozen(own)

    def form_of_rows(self, name: str, array: Any, length: int, lowest: int = 0) -> Array:
        """Frozen `array`, or Broken unless it holds rows of the graph, from `lowest` (0, or NO_ROW), on every rank."""
        rows = self.form(name, array, length, self.shard.ghosts.dtype)
        outside_rows = self.first(rows[np.flatnonzero((rows < lowest) | (rows >= self.num_vertices))[:1]])
        if outside_rows:
            raise Broken(outside(name, outside_rows[0], 0, self.num_vertices, lowest))
        return rows

    def form_of_labels(self, labels: Any) -> Array:
        """Frozen `labels` [n], or Broken unless each names a row that names itself and has no greater id than those it names."""
        own = self.form_of_rows("labels", labels, len(self.shard.ids))
        label_of_label, position = self.rows.request(own, own, self.shard.positions)
        for wrong, reason in ((label_of_label != own, label_astray), (position > self.shard.positions, label_greater)):
            row = self.first_row(wrong)
            if row != NO_ROW:
                raise Broken(reason(self, self.spread(own), row))
        return own


def local_rows_of(shard: Shard, rows: Array) -> Array:
    """The local rows of rows of the whole graph (int64); -1 where one is neither own nor a ghost."""
    own = shard.rows
    local: Array = np.where((rows >= own.start) & (rows < own.stop), rows.astype(np.int64) - own.start, -1)
    if shard.num_ghosts:
        places = np.minimum(np.searchsorted(shard.ghosts, rows), shard.num_ghosts - 1)
        local = np.where(shard.ghosts[places] == rows, len(own) + places, local)
    return local


def evidence(shard: Shard, weights: Array | None, arc: int) -> tuple[Array, Array, Array]:
    """Tail, head and weight of an own out-arc, as rows of the graph, in arrays of one entry; of none for -1."""
    arcs = np.array([arc] if arc >= 0 else [], np.int64, like=shard.out.offsets)
    src = np.searchsorted(shard.out.offsets, arcs, side="right") - 1 + shard.rows.start
    dst = shard.local_rows[shard.local_out.indices[arcs]]
    return src, dst, (arcs if weights is None else weights[arcs])
