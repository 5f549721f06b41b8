"""Compare two blocks with the same range of keys: rows that were added, removed or changed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.arrays import frozen
from kernels.cpu.compiled import njit
from kernels.graph import Array
from pipeline.comparison.fingerprints import bits, has_bits, whole
from pipeline.tables.changes import KIND, NEW, OLD

KINDS = ("added", "removed", "changed")


@dataclass(frozen=True)
class Columns:
    """The columns that both versions of a table have."""

    keys: list[str]
    values: list[str]
    ids: set[str]  # columns of ids, whose differences have no size

    def of(self, rows: pa.Table) -> pa.Table:
        """The keys, then the values."""
        return rows.select([*self.keys, *self.values])


@dataclass
class BlockDifference:
    """The differences between two blocks.

    `places` are the rows of the old and of the new block that differ, in the order of their keys: int32 [n] each, -1 where the
    block has not the key; `kinds` int8 [n] are numbers of `KINDS`.
    """

    blocks: tuple[pa.Table, pa.Table]
    names: Columns
    places: tuple[Array, Array]
    kinds: Array
    columns: dict[str, int] = field(default_factory=dict)
    largest: dict[str, float] = field(default_factory=dict)
    examples: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    _taken: dict[str, tuple[pa.Array, pa.Array]] = field(default_factory=dict)

    @property
    def counts(self) -> tuple[int, int, int]:
        """Rows added, removed and changed."""
        added, removed, changed = (int(np.count_nonzero(self.kinds == kind)) for kind in range(len(KINDS)))
        return added, removed, changed

    def rows(self) -> pa.Table:
        """The rows of the change table, sorted by the keys."""
        found = {}
        for name in self.names.keys:
            old, new = self.taken(name)
            found[name] = pc.coalesce(new, old) if new.null_count else new
        for name in self.names.values:
            found |= {mark + name: values for mark, values in zip((OLD, NEW), self.taken(name), strict=True)}
        return pa.table(found | {KIND.name: pa.array(KINDS).take(pa.array(self.kinds))})

    def taken(self, name: str) -> tuple[pa.Array, pa.Array]:
        """The values of a column in the old and in the new block, at the rows that differ; null where a block lacks the key."""
        if name not in self._taken:
            old, new = (_taken(side[name], places) for side, places in zip(self.blocks, self.places, strict=True))
            self._taken[name] = old, new
        return self._taken[name]


def compare_blocks(old: pa.Table, new: pa.Table, names: Columns, examples: int) -> BlockDifference:
    """Compare two sorted blocks with the same range of keys; return up to this many examples of each kind."""
    left, right = joined(*([_ordered(side[key]) for key in names.keys] for side in (old, new)))
    one, both = (left < 0) | (right < 0), (left, right)
    differs = {name: _differs(whole(old[name]), whole(new[name]), *both) for name in names.values}
    places = np.flatnonzero(np.logical_or.reduce([one, *differs.values()]))
    left, right = left[places], right[places]
    kinds = np.where(left < 0, 0, np.where(right < 0, 1, 2)).astype(np.int8)
    found = BlockDifference((old, new), names, (left, right), kinds)
    for name, rows in differs.items():
        if count := int(np.count_nonzero(rows)):
            found.columns[name] = count
            if name not in names.ids and (most := _largest(*found.taken(name))) is not None:
                found.largest[name] = most
    if examples:
        few = [np.flatnonzero(kinds == kind)[:examples] for kind in range(len(KINDS))]
        added, removed = (side.select(names.keys).take(at) for side, at in ((new, right[few[0]]), (old, left[few[1]])))
        shown = [side.take(at[few[2]]).to_pylist() for side, at in ((old, left), (new, right))]
        pairs = zip(places[few[2]].tolist(), *shown, strict=True)
        changed = [
            {key: before[key] for key in names.keys}
            | {name: [_shown(before[name]), _shown(after[name])] for name in names.values if differs[name][row]}
            for row, before, after in pairs
        ]
        found.examples = dict(zip(KINDS, (added.to_pylist(), removed.to_pylist(), changed), strict=True))
    return found


def joined(old: Sequence[Array], new: Sequence[Array]) -> tuple[Array, Array]:
    """The rows of both blocks for each key of either, in the order of the keys: int32, -1 if a block lacks the key.

    Args:
        old, new (int64 [n], [m]): The columns of the keys, by which each block is sorted.
    """
    while len(old) > 1 and len(old[0]) and len(new[0]) and old[0][0] == old[0][-1] == new[0][0] == new[0][-1]:
        old, new = old[1:], new[1:]  # a key that all rows have
    left, right = (np.empty(len(old[0]) + len(new[0]), np.int32) for _ in range(2))
    count = _join(*(frozen(np.stack(side) if len(side) > 1 else side[0][None]) for side in (old, new)), left, right)
    return left[:count], right[:count]


@njit(cache=True, nogil=True)
def _join(old: Array, new: Array, left: Array, right: Array) -> int:
    (keys, old_rows), new_rows = old.shape, new.shape[1]
    first = second = count = 0
    while first < old_rows or second < new_rows:
        order = 0
        if first == old_rows or second == new_rows:
            order = 1 if first == old_rows else -1
        else:
            for key in range(keys):
                if old[key, first] != new[key, second]:
                    order = -1 if old[key, first] < new[key, second] else 1
                    break
        left[count] = first if order <= 0 else -1
        right[count] = second if order >= 0 else -1
        first += order <= 0
        second += order >= 0
        count += 1
    return count


@njit(cache=True, nogil=True)
def _mark(
    old: Array, old_valid: Array, old_first: int, new: Array, new_valid: Array, new_first: int, left: Array, right: Array,
    differs: Array,
) -> None:  # fmt: skip
    """Mark the rows of both blocks whose values (`Bits`) differ; a null equals a null only."""
    for row in range(len(left)):
        first, second = left[row], right[row]
        if first >= 0 and second >= 0:
            one, other = old_first + first, new_first + second
            is_value = not len(old_valid) or old_valid[one >> 3] >> (one & 7) & 1
            was_value = not len(new_valid) or new_valid[other >> 3] >> (other & 7) & 1
            differs[row] = bool(is_value) != bool(was_value) or (bool(is_value) and old[first] != new[second])


def _ordered(column: pa.ChunkedArray) -> Array:
    """Numbers as int64 in the same order."""
    values = whole(column).to_numpy()
    if values.dtype.kind != "f":
        integers: Array = values.astype(np.int64, copy=False)
        return integers
    found: Array = (values.astype(np.float64) + 0.0).view(np.int64)  # -0.0 becomes 0.0
    found ^= found >> 63 & np.int64(2**63 - 1)
    return found


def _taken(column: pa.ChunkedArray, places: Array) -> pa.Array:
    """The values at some places; null at -1."""
    values = whole(column)
    if len(places) == len(values) and (not len(places) or places.min() == 0):
        return values  # all rows, which ascend
    missing = places < 0
    return values.take(pa.array(places, mask=missing if missing.any() else None))


def _differs(old: pa.Array, new: pa.Array, left: Array, right: Array) -> Array:
    """Whether the values of the rows of both blocks differ, bool [n]; False where one block lacks the row.

    A null equals a null only, and floats are compared by their bits.
    """
    differs = np.zeros(len(left), bool)
    if old.type == new.type and has_bits(old.type):
        _mark(*bits(old), *bits(new), left, right, differs)
        return differs
    both = np.flatnonzero((left >= 0) & (right >= 0))
    differs[both] = _others_differ(old.take(left[both]), new.take(right[both]))
    return differs


def _others_differ(old: pa.Array, new: pa.Array) -> Array:
    """Where the values of two columns differ, if they do not have the same numeric type."""
    if old.type == new.type and old.equals(new):
        return np.zeros(len(old), bool)
    if pa.types.is_list(old.type) and pa.types.is_list(new.type):
        return _lists_differ(old, new)
    if old.type != new.type and not (_is_number(old.type) and _is_number(new.type)):
        old, new = old.cast(pa.string()), new.cast(pa.string())
    one_null = pc.xor(pc.is_null(old), pc.is_null(new))
    differs: Array = pc.or_(pc.fill_null(pc.not_equal(old, new), False), one_null).to_numpy(zero_copy_only=False)
    return differs


def _lists_differ(old: pa.Array, new: pa.Array) -> Array:
    """Where lists without nulls differ."""
    lengths = [pc.list_value_length(column).to_numpy() for column in (old, new)]
    differs: Array = lengths[0] != lengths[1]
    rows = np.flatnonzero(~differs)
    values = [pc.list_flatten(column.take(rows)).to_numpy() for column in (old, new)]
    unequal = np.flatnonzero(values[0] != values[1])
    differs[rows[np.searchsorted(np.cumsum(lengths[0][rows]), unequal, "right")]] = True
    return differs


def _shown(value: Any) -> Any:
    """A value that JSON can hold."""
    return value.hex() if isinstance(value, bytes) else value


def _largest(old: pa.Array, new: pa.Array) -> float | None:
    """The largest difference between two columns of numbers; None for other columns."""
    if not (_is_number(old.type) and _is_number(new.type)):
        return None
    return pc.max(pc.abs(pc.subtract(new.cast(pa.float64(), safe=False), old.cast(pa.float64(), safe=False)))).as_py() or 0.0


def _is_number(type: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type) or pa.types.is_floating(type))
