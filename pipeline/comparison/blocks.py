"""Compare two blocks with the same range of keys: rows that were added, removed or changed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.graph import Array
from pipeline.comparison.matching import Matching, match
from pipeline.comparison.values import differing, key_numbers, whole
from pipeline.tables.changes import KIND, NEW, OLD
from pipeline.tables.readable import readable

KINDS = ("added", "removed", "changed")


@dataclass(frozen=True)
class ComparedColumns:
    """The columns that both versions of a table have."""

    keys: list[str]
    values: list[str]
    ids: set[str]  # columns of ids, whose differences have no size


@dataclass
class BlockDifference:
    """The differences between two blocks.

    `positions` are the rows of the old and of the new block that differ, in the order of their keys: int64 [n] each, -1 where the
    block has not the key; `kinds` int8 [n] are numbers of `KINDS`.
    """

    blocks: tuple[pa.Table, pa.Table]
    names: ComparedColumns
    positions: tuple[Array, Array]
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
        columns = {}
        for name in self.names.keys:
            old, new = self.taken(name)
            columns[name] = pc.coalesce(new, old) if new.null_count else new
        for name in self.names.values:
            columns |= {mark + name: values for mark, values in zip((OLD, NEW), self.taken(name), strict=True)}
        return pa.table(columns | {KIND.name: pa.DictionaryArray.from_arrays(self.kinds, KINDS)})

    def taken(self, name: str) -> tuple[pa.Array, pa.Array]:
        """The values of a column in the old and in the new block, at the rows that differ; null where a block lacks the key."""
        if name not in self._taken:
            old, new = (_taken(side[name], positions) for side, positions in zip(self.blocks, self.positions, strict=True))
            self._taken[name] = old, new
        return self._taken[name]


def compare_blocks(
    old: pa.Table, new: pa.Table, names: ComparedColumns, examples: int, matched: Callable[[Array, Array], Matching] = match
) -> BlockDifference:
    """Compare two sorted blocks with the same range of keys; return up to this many examples of each kind.

    `matched` is `match`, or finds what that returns. Raises Unordered if the keys do not ascend, each once.
    """
    before, after = key_numbers(*([whole(side[key]) for key in names.keys] for side in (old, new)))
    matching = matched(before, after)
    differs = {name: _differs(whole(old[name]), whole(new[name]), matching) for name in names.values}
    changed = np.logical_or.reduce([np.zeros(len(new), np.bool_), *differs.values()])
    positions = _differing_rows(before, after, matching, changed)
    kinds = np.where(positions[0] < 0, 0, np.where(positions[1] < 0, 1, 2)).astype(np.int8)
    difference = BlockDifference((old, new), names, positions, kinds)
    for name, unequal in differs.items():
        if count := int(np.count_nonzero(unequal)):
            difference.columns[name] = count
            if name not in names.ids and (most := _largest(*difference.taken(name))) is not None:
                difference.largest[name] = most
    if examples:
        unequal_rows = {name: unequal[changed] for name, unequal in differs.items()}
        difference.examples = dict(zip(KINDS, _examples(difference, unequal_rows, examples), strict=True))
    return difference


def _examples(difference: BlockDifference, differs: dict[str, Array], most: int) -> Iterator[list[dict[str, Any]]]:
    """Keys of the first rows that were added, and removed; of changed ones also the values that differ.

    `differs`, bool [changed rows] each: for each column where its values differ.
    """
    (old, new), (rows_of_old, rows_of_new), keys = difference.blocks, difference.positions, difference.names.keys
    added, removed, changed = (np.flatnonzero(difference.kinds == kind)[:most] for kind in range(len(KINDS)))
    yield new.select(keys).take(rows_of_new[added]).to_pylist()
    yield old.select(keys).take(rows_of_old[removed]).to_pylist()
    shown = [readable(block.take(rows[changed])).to_pylist() for block, rows in ((old, rows_of_old), (new, rows_of_new))]
    yield [
        {key: was[key] for key in keys}
        | {name: [_shown(was[name]), _shown(now[name])] for name, unequal in differs.items() if unequal[number]}
        for number, (was, now) in enumerate(zip(*shown, strict=True))
    ]


def _differing_rows(old: Array, new: Array, matching: Matching, changed: Array) -> tuple[Array, Array]:
    """`BlockDifference.positions` by the numbers of the keys; `changed`, bool [rows of the new block], without the added rows."""
    differs = changed.copy()
    differs[matching.added] = True
    rows_of_new = np.flatnonzero(differs)
    if matching.source is None:
        return rows_of_new, rows_of_new
    rows_of_old = matching.source[rows_of_new]
    rows_of_old[np.searchsorted(rows_of_new, matching.added)] = -1
    if not len(matching.removed):
        return rows_of_old, rows_of_new
    at = np.searchsorted(new[rows_of_new], old[matching.removed])
    return np.insert(rows_of_old, at, matching.removed), np.insert(rows_of_new, at, -1)


def _taken(column: pa.ChunkedArray, positions: Array) -> pa.Array:
    """The values at some places; null at -1."""
    values = whole(column)
    if len(positions) == len(values) and (not len(positions) or positions.min() == 0):
        return values  # all rows, which ascend
    missing = positions < 0
    return values.take(pa.array(positions, mask=missing if missing.any() else None))


def _differs(old: pa.Array, new: pa.Array, matching: Matching) -> Array:
    """Where values of the new block differ from those of the old block with the same keys, for columns of any types."""
    if len(matching.added) == len(new):
        return np.zeros(len(new), np.bool_)
    if old.type == new.type:
        unequal = differing(old, new, matching.source)
    else:
        unequal = _of_other_types_differ(old if matching.source is None else old.take(matching.source), new)
    unequal[matching.added] = False
    return unequal


def _of_other_types_differ(old: pa.Array, new: pa.Array) -> Array:
    """Where the values of two columns of different types differ: numbers by their values, others by their texts."""
    if not (_is_number(old.type) and _is_number(new.type)):
        text = pa.list_(pa.string()) if pa.types.is_list(old.type) and pa.types.is_list(new.type) else pa.string()
        return differing(old.cast(text), new.cast(text))
    one_null = pc.xor(pc.is_null(old), pc.is_null(new))
    differs: Array = pc.or_(pc.fill_null(pc.not_equal(old, new), False), one_null).to_numpy(zero_copy_only=False)
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
