"""The whole graph, as a certificate over shards speaks of it: any row's entry, and the first row of all that breaks a rule.

The ranks raise Broken together, so that none is left waiting, and with one reason, which names what the one-worker
certificate names of a graph whose rows have these numbers: they ascend with the ranks, so the first row that a rule refuses is
the first rank's that found one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from kernels.arrays import frozen, is_cupy_array
from kernels.certificate.directory import Directory
from kernels.certificate.rules import Broken, label_astray, label_greater, outside, require_form
from kernels.distributed.communicator import Communicator
from kernels.distributed.shard import Shard
from kernels.graph import NO_ROW, Array

Result = TypeVar("Result")


class Spread:
    """An array with an entry for each row, of which each rank holds its own rows'; read by the reasons. Reading is collective."""

    def __init__(self, rows: Directory, own: Array):
        self._rows, self._own = rows, own

    def __getitem__(self, one: slice) -> Array:
        """The entry of one row, on every rank."""
        here = max(one.start - self._rows.start, 0) if one.start < self._rows.stop else len(self._own)
        mine = self._own[here : here + 1] if one.start >= self._rows.start else self._own[:0]
        return np.concatenate(self._rows.communicator.gather(mine))


class Whole:
    """What a rank's certificate asks of the others. The methods are collective.

    Attributes
    ----------
    rows : Directory
    ids : Spread
        External ids, as the reasons read them.
    num_vertices : int
    """

    def __init__(self, shard: Shard, communicator: Communicator):
        self.shard, self.communicator = shard, communicator
        self.rows = Directory(shard.bounds, communicator)
        self.ids = self.spread(shard.ids)
        self.num_vertices = shard.num_vertices

    def spread(self, own: Array) -> Spread:
        """`own` [n] as the reasons read it."""
        return Spread(self.rows, own)

    def together(self, check: Callable[[], Result]) -> Result:
        """Return `check()`; or raise Broken on all ranks, with the first one's reason, if it does so on some."""
        reason = ""
        try:
            checked = check()
        except Broken as broken:
            reason = str(broken)
        self.require(reason)
        return checked

    def require(self, reason: str) -> None:
        """Raise Broken on all ranks, for the first rank's `reason` that is not empty."""
        for told in self.communicator.gather(np.array(list(reason.encode()), np.uint8)):
            if len(told):
                raise Broken(bytes(told).decode())

    def any(self, here: bool) -> bool:
        """Whether it is so on some rank."""
        return bool(self.communicator.most(np.array([here], np.int64))[0])

    def sum(self, here: int) -> int:
        """The sum over all ranks."""
        return int(self.communicator.total(np.array([here], np.int64))[0])

    def first(self, *found: Array, key: Array | None = None) -> list[Array]:
        """What the first rank that found something found; nothing if none did.

        Parameters
        ----------
        found : arrays of one entry or a few
            Of none where the rank found nothing.
        key : [K]
            Whoever has the least one is the first; in place of the order of ranks.
        """
        keys = self.communicator.gather(found[0][:1] if key is None else key)
        finders = [rank for rank, of_rank in enumerate(keys) if len(of_rank)]
        if not finders:
            return []
        finder = finders[0] if key is None else min(finders, key=lambda rank: list(keys[rank].tolist()))
        mine = slice(None if finder == self.communicator.rank else 0)
        return [np.concatenate(self.communicator.gather(array[mine])) for array in found]

    def first_row(self, wrong: Array) -> int:
        """The first row of all for which `wrong`, bool [n], says so; NO_ROW if none."""
        found = self.first(np.flatnonzero(wrong)[:1] + self.rows.start)
        return int(found[0][0]) if found else NO_ROW

    def form(self, name: str, array: Any, length: int, dtype: np.dtype[Any]) -> Array:
        """Frozen `array`, or Broken unless it is an array of this length and type on every rank."""
        kind = type(self.shard.ghosts) if is_cupy_array(self.shard.ghosts) else np.ndarray
        own = self.together(lambda: require_form(name, array, length, dtype, kind))
        own = own if own.flags.c_contiguous else own.copy()
        return own if is_cupy_array(own) else frozen(own)

    def form_of_rows(self, name: str, array: Any, length: int, lowest: int = 0) -> Array:
        """Frozen `array`, or Broken unless it holds rows of the graph, from `lowest` (0, or NO_ROW), on every rank."""
        rows = self.form(name, array, length, self.shard.ghosts.dtype)
        found = self.first(rows[np.flatnonzero((rows < lowest) | (rows >= self.num_vertices))[:1]])
        if found:
            raise Broken(outside(name, found[0], 0, self.num_vertices, lowest))
        return rows

    def form_of_labels(self, labels: Any) -> Array:
        """Frozen `labels` [n], or Broken unless each names a row that names itself and has no greater id than those it names."""
        own = self.form_of_rows("labels", labels, len(self.shard.ids))
        label_of_label, rank = self.rows.ask(own, own, self.shard.positions)
        for wrong, reason in ((label_of_label != own, label_astray), (rank > self.shard.positions, label_greater)):
            row = self.first_row(wrong)
            if row != NO_ROW:
                raise Broken(reason(self, self.spread(own), row))
        return own


def local_numbers(shard: Shard, rows: Array) -> Array:
    """The local numbers of rows of the whole graph (int64); -1 where one is neither own nor a ghost."""
    own = shard.rows
    numbers = np.where((rows >= own.start) & (rows < own.stop), rows.astype(np.int64) - own.start, -1)
    if shard.num_ghosts:
        places = np.minimum(np.searchsorted(shard.ghosts, rows), shard.num_ghosts - 1)
        numbers = np.where(shard.ghosts[places] == rows, len(own) + places, numbers)
    return numbers
