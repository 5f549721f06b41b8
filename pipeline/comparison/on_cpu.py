"""Two blocks compared by NumPy and Arrow, where Arrow has their values."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.graph import Array
from pipeline.comparison.contract import Columns, Places
from pipeline.comparison.matching import Matching, Matchings
from pipeline.comparison.replay import replays
from pipeline.comparison.values import differing, has_bits, is_number, key_numbers, whole


@dataclass(frozen=True)
class PairOnCpu:
    """A pair of blocks, of which tables with the same keys share the matching."""

    old: pa.Table
    new: pa.Table
    names: Columns
    matchings: Matchings

    def places(self) -> Places:
        """As `Pair.places`."""
        numbers = key_numbers(*([whole(side[key]) for key in self.names.keys] for side in (self.old, self.new)))
        matching = self.matchings.of(*numbers)
        differs = {name: _differs(whole(self.old[name]), whole(self.new[name]), matching) for name in self.names.values}
        changed = np.logical_or.reduce([np.zeros(len(self.new), np.bool_), *differs.values()])
        changed[matching.added] = True
        rows = np.flatnonzero(changed)
        source = rows if matching.source is None else matching.source[rows]
        source[np.searchsorted(rows, matching.added)] = -1
        return in_order(numbers, rows, source, matching.removed, {name: of[rows] for name, of in differs.items()})

    def replayed_by(self, rows: pa.Table) -> bool:
        """As `Pair.replayed_by`."""
        return replays(self.old, self.new, rows, self.names)


def in_order(numbers: Sequence[Array], rows: Array, source: Array, removed: Array, unequal: dict[str, Array]) -> Places:
    """The places by the rows of the new block that differ and those that were removed from the old one.

    Args:
        numbers (int64 [rows of a block] each): Those of all keys of the old and the new block.
        rows, source, unequal: As `Places.new`, `Places.old` and `Places.unequal`, but for the rows that were removed.
        removed (int64 [n]): These rows of the old block, ascending.
    """
    if not len(removed):
        return Places(source, rows, unequal)
    old, new = numbers
    at = np.searchsorted(new[rows], old[removed])
    inserted = {name: np.insert(of, at, False) for name, of in unequal.items()}
    return Places(np.insert(source, at, removed), np.insert(rows, at, -1), inserted)


def _differs(old: pa.Array, new: pa.Array, matching: Matching) -> Array:
    """Where values of the new block differ from those of the old block with the same keys, for columns of any types."""
    if len(matching.added) == len(new):
        return np.zeros(len(new), np.bool_)
    bits = old.type == new.type and has_bits(old.type)
    found = differing(old, new, matching.source) if bits else _others_differ(_at(old, matching.source), new)
    found[matching.added] = False
    return found


def _at(values: pa.Array, rows: Array | None) -> pa.Array:
    return values if rows is None else values.take(rows)


def _others_differ(old: pa.Array, new: pa.Array) -> Array:
    """Where the values of two columns differ, if they do not have the same numeric type."""
    if old.type == new.type and old.equals(new):
        return np.zeros(len(old), bool)
    if pa.types.is_list(old.type) and pa.types.is_list(new.type):
        return _lists_differ(old, new)
    if old.type != new.type and not (is_number(old.type) and is_number(new.type)):
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
