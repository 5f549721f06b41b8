"""Compare two blocks with the same range of keys: rows that were added, removed or changed."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.comparison.constants import ADDED, CHANGED, REMOVED
from kernels.graph import Array
from pipeline.comparison.contract import KINDS, Pair, Places
from pipeline.comparison.values import is_number, whole
from pipeline.tables.changes import KIND, NEW, OLD


@dataclass
class BlockDifference:
    """The differences between two blocks; `kinds`, int8 [n], are numbers of `KINDS`, one for each place."""

    pair: Pair
    places: Places
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
        for name in self.pair.names.keys:
            old, new = self.taken(name)
            found[name] = pc.coalesce(new, old) if new.null_count else new
        for name in self.pair.names.values:
            found |= {mark + name: values for mark, values in zip((OLD, NEW), self.taken(name), strict=True)}
        return pa.table(found | {KIND.name: pa.DictionaryArray.from_arrays(self.kinds, KINDS)})

    def taken(self, name: str) -> tuple[pa.Array, pa.Array]:
        """The values of a column in the old and in the new block, at the rows that differ; null where a block lacks the key."""
        if name not in self._taken:
            self._taken[name] = _taken(self.pair.old[name], self.places.old), _taken(self.pair.new[name], self.places.new)
        return self._taken[name]


def compare_blocks(pair: Pair, examples: int) -> BlockDifference:
    """The differences between two blocks; up to this many examples of each kind.

    Raises Unordered unless the keys ascend, each once, or are the same.
    """
    places = pair.places()
    kinds = np.where(places.old < 0, ADDED, np.where(places.new < 0, REMOVED, CHANGED)).astype(np.int8)
    found = BlockDifference(pair, places, kinds)
    for name, unequal in places.unequal.items():
        if count := int(np.count_nonzero(unequal)):
            found.columns[name] = count
            if name not in pair.names.ids and (most := _largest(*found.taken(name))) is not None:
                found.largest[name] = most
    if examples:
        few = [np.flatnonzero(kinds == kind)[:examples] for kind in range(len(KINDS))]
        found.examples = dict(zip(KINDS, _examples(pair, places, *few), strict=True))
    return found


def _examples(pair: Pair, places: Places, added: Array, removed: Array, changed: Array) -> Iterator[list[dict[str, Any]]]:
    """Keys of rows that were added or removed, at these positions of the places; for changed ones also the values that differ."""
    keys = pair.names.keys
    yield pair.new.select(keys).take(places.new[added]).to_pylist()
    yield pair.old.select(keys).take(places.old[removed]).to_pylist()
    shown = pair.old.take(places.old[changed]).to_pylist(), pair.new.take(places.new[changed]).to_pylist()
    yield [
        {key: was[key] for key in keys}
        | {name: [_shown(was[name]), _shown(now[name])] for name, unequal in places.unequal.items() if unequal[place]}
        for place, was, now in zip(changed.tolist(), *shown, strict=True)
    ]


def _taken(column: pa.ChunkedArray, places: Array) -> pa.Array:
    """The values at some places; null at -1."""
    values = whole(column)
    if len(places) == len(values) and (not len(places) or places.min() == 0):
        return values  # all rows, which ascend
    missing = places < 0
    return values.take(pa.array(places, mask=missing if missing.any() else None))


def _shown(value: Any) -> Any:
    """A value that JSON can hold."""
    return value.hex() if isinstance(value, bytes) else value


def _largest(old: pa.Array, new: pa.Array) -> float | None:
    """The largest difference between two columns of numbers; None for other columns."""
    if not (is_number(old.type) and is_number(new.type)):
        return None
    return pc.max(pc.abs(pc.subtract(new.cast(pa.float64(), safe=False), old.cast(pa.float64(), safe=False)))).as_py() or 0.0
