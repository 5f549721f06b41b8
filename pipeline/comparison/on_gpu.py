"""Two blocks compared on the GPU, if all their columns are numbers; otherwise on the CPU."""

from collections.abc import Callable
from functools import cached_property, partial
from typing import TypeVar

import numpy as np
import pyarrow as pa

from kernels.comparison.block import Block, Values
from kernels.comparison.blocks import Blocks
from kernels.comparison.constants import MOST_COLUMNS
from kernels.graph import Array
from pipeline.comparison.contract import Columns, Pair, Pairing, Places
from pipeline.comparison.on_cpu import in_order
from pipeline.comparison.replay import codes
from pipeline.comparison.values import has_bits, key_numbers, whole, words
from pipeline.tables.changes import KIND, NEW, OLD

WORTH_A_GPU = 2**16  # rows of both blocks
Result = TypeVar("Result")


class PairOnGpu:
    """A pair of blocks; `on_cpu` makes the one that is asked where the GPU cannot answer."""

    def __init__(self, old: pa.Table, new: pa.Table, names: Columns, on_cpu: Pairing) -> None:
        self.old, self.new, self.names, self._pairing = old, new, names, on_cpu
        self._blocks = self._copied() if self._suited() else None

    def places(self) -> Places:
        """As `Pair.places`."""
        found = _unless_full(self._blocks.differences) if self._blocks else None
        if found is None:
            return self._on_cpu.places()
        differs = {name: (found.columns >> np.uint32(place) & 1).astype(np.bool_) for place, name in enumerate(self.names.values)}
        return in_order(self._numbers, found.rows, found.source.astype(np.int64), found.removed, differs)

    def replayed_by(self, rows: pa.Table) -> bool:
        """As `Pair.replayed_by`."""
        if not self._blocks:
            return self._on_cpu.replayed_by(rows)
        *of_sides, numbers = self._numbers_with(rows)
        if not all(map(np.array_equal, of_sides, self._numbers)):
            return False  # a row has a key beyond those of both blocks
        shown = [_columns(rows, [mark + name for name in self.names.values]) for mark in (OLD, NEW)]
        found = _unless_full(partial(self._blocks.replays, numbers, codes(rows[KIND.name]), *shown))
        return self._on_cpu.replayed_by(rows) if found is None else found

    @cached_property
    def _numbers(self) -> list[Array]:
        return self._numbers_with()

    @cached_property
    def _on_cpu(self) -> Pair:
        return self._pairing(self.old, self.new, self.names)

    def _suited(self) -> bool:
        columns = [*self.names.keys, *self.names.values]
        return (
            len(self.old) + len(self.new) >= WORTH_A_GPU
            and len(self.names.values) <= MOST_COLUMNS
            and all(self.old[name].type == self.new[name].type and has_bits(self.old[name].type) for name in columns)
        )

    def _copied(self) -> Blocks | None:
        """The blocks on the GPU; None if they do not fit."""
        sides = [
            Block(numbers, _columns(side, self.names.values), _columns(side, self.names.keys))
            for side, numbers in zip((self.old, self.new), self._numbers, strict=True)
        ]
        return _unless_full(partial(Blocks, *sides))

    def _numbers_with(self, *others: pa.Table) -> list[Array]:
        return key_numbers(*([whole(side[key]) for key in self.names.keys] for side in (self.old, self.new, *others)))


def _unless_full(work: Callable[[], Result]) -> Result | None:
    """What `work` returns; None if it needs more memory than the GPU has left."""
    try:
        return work()
    except MemoryError:
        return None


def _columns(table: pa.Table, names: list[str]) -> tuple[Values, ...]:
    return tuple(_values(whole(table[name])) for name in names)


def _values(column: pa.Array) -> Values:
    if not column.null_count:
        return Values(words(column))
    bits = np.frombuffer(column.buffers()[0], np.uint8)
    return Values(words(column), bits[column.offset >> 3 : (column.offset + len(column) + 7) >> 3], column.offset & 7)
