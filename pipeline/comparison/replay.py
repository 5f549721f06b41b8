"""The proof of the rows of a change table: they turn an old block of a table into the new one, compared bit by bit."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from kernels.graph import Array
from pipeline.comparison.blocks import KINDS, ComparedColumns
from pipeline.comparison.values import ascend, differing, key_numbers, same, valid, whole
from pipeline.tables.changes import KIND, NEW, OLD


def replays(old: pa.Table, new: pa.Table, rows: pa.Table, names: ComparedColumns) -> bool:
    """Whether the keys of these rows ascend, each once, and they are all rows by which `new` differs from `old`, and no others.

    Args:
        old, new: Two sorted blocks with the same range of keys, and the same types.
        rows: Those of the change table in this range; their column `kind` is a dictionary.
    """
    *of_sides, wanted = key_numbers(*([whole(block[key]) for key in names.keys] for block in (old, new, rows)))
    kinds = codes(rows[KIND.name])
    if not ascend(wanted) or kinds.min(initial=0) < 0:
        return False
    kept, may_differ = list[Array | None](), list[Array]()
    for block, numbers, mark, lacking in ((old, of_sides[0], OLD, "added"), (new, of_sides[1], NEW, "removed")):
        here = np.flatnonzero(kinds != KINDS.index(lacking))
        of_here = np.searchsorted(numbers, wanted[here]) if len(here) < len(numbers) else np.arange(len(numbers))
        if not np.array_equal(numbers[np.minimum(of_here, len(numbers) - 1)], wanted[here]):
            return False
        if not all(_shows(rows[mark + name], here, block[name], of_here) for name in names.values):
            return False
        flags, changed = np.zeros(len(block), np.bool_), kinds[here] == KINDS.index("changed")
        flags[of_here[changed]] = True
        alone = of_here[~changed]
        kept.append(np.delete(np.arange(len(block)), alone) if len(alone) else None)
        may_differ.append(flags if kept[-1] is None else flags.take(kept[-1]))
    if not np.array_equal(may_differ[0], may_differ[1]):
        return False
    keys, values = (_differ(old, new, of, kept) for of in (names.keys, names.values))
    return not (keys > may_differ[0]).any() and np.array_equal(values, may_differ[0])


def _differ(old: pa.Table, new: pa.Table, names: Sequence[str], kept: Sequence[Array | None]) -> Array:
    """Whether the rows `kept` (None: all) of two blocks, equally many, differ in one of these columns, bool [n]."""
    unequal = np.zeros(len(old) if kept[0] is None else len(kept[0]), np.bool_)
    for name in names:
        unequal |= differing(whole(old[name]), whole(new[name]), *kept)
    return unequal


def codes(kinds: pa.ChunkedArray) -> Array:
    """The numbers in `KINDS` of a column of kinds, which is a dictionary; -1 for any other text."""
    column = whole(kinds)
    known = [KINDS.index(kind) if kind in KINDS else -1 for kind in column.dictionary.to_pylist()]
    numbers: Array = np.array([*known, -1], np.int8)[column.indices.to_numpy()]
    return numbers


def _shows(shown: pa.ChunkedArray, here: Array, values: pa.ChunkedArray, places: Array) -> bool:
    """Whether a column of the change table has the values of a block at these places in its rows `here`, and nulls elsewhere."""
    column = whole(shown)
    present = valid(column)
    if len(here) < len(column) and (present is None or np.count_nonzero(present) != np.count_nonzero(present[here])):
        return False
    return same(column, whole(values), here if len(here) < len(column) else None, places if len(places) < len(values) else None)
