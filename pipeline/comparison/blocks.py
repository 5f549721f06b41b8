"""Two blocks of the same range of keys: which rows of them were added, removed or changed."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.graph import Array
from pipeline.tables.changes import KIND, NEW, OLD


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
    """What differs between two blocks.

    `removed` and `added` are rows of the old and of the new block, `changed` of both: places int64 [n].
    """

    blocks: tuple[pa.Table, pa.Table]
    names: Columns
    removed: Array
    added: Array
    changed: tuple[Array, Array]
    columns: dict[str, int] = field(default_factory=dict)
    largest: dict[str, float] = field(default_factory=dict)
    examples: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    @property
    def counts(self) -> tuple[int, int, int]:
        """Rows added, removed and changed."""
        return len(self.added), len(self.removed), len(self.changed[0])

    def rows(self) -> pa.Table:
        """The rows of the change table, sorted by the keys."""
        (old, new), (left, right) = self.blocks, self.changed
        added, removed, changed = self.counts
        keys = pa.concat_tables([
            old.select(self.names.keys).take(self.removed), new.select(self.names.keys).take(np.concatenate([self.added, right])),
        ])  # fmt: skip
        found = {name: keys[name] for name in self.names.keys}
        for name in self.names.values:
            for mark, table, own, other in ((OLD, old, self.removed, added), (NEW, new, self.added, removed)):
                values = table[name].take(own), pa.nulls(other, table.schema.field(name).type)
                ordered = values if mark == OLD else values[::-1]
                last = table[name].take(left if mark == OLD else right)
                found[mark + name] = pa.chunked_array([c for part in (*ordered, last) for c in _chunks(part)], last.type)
        found[KIND.name] = pa.array(np.repeat(["removed", "added", "changed"], [removed, added, changed]).tolist(), pa.string())
        order = np.lexsort([keys[name].to_numpy() for name in reversed(self.names.keys)])
        return pa.table(found).take(order)


def compare_blocks(old: pa.Table, new: pa.Table, names: Columns, examples: int) -> BlockDifference:
    """Compare two blocks whose rows have the same range of keys, in which both are sorted; give so many examples of a kind."""
    left, right = _matched(old, new, names.keys)
    removed, added = (_others(len(table), rows) for table, rows in ((old, left), (new, right)))
    found = BlockDifference((old, new), names, removed, added, (left[:0], right[:0]))
    shown = {"added": new, "removed": old}
    found.examples = {
        kind: table.select(names.keys).take(getattr(found, kind)[:examples]).to_pylist() if len(getattr(found, kind)) else []
        for kind, table in shown.items()
    } | {"changed": []}
    if len(left):
        both = [table if len(rows) == len(table) else table.take(rows) for table, rows in ((old, left), (new, right))]
        differs = {name: _differs(*(whole(side[name]) for side in both)) for name in names.values}
        changed = np.flatnonzero(np.logical_or.reduce([*differs.values(), np.zeros(len(left), bool)]))
        found.changed = left[changed], right[changed]
        for name, rows in differs.items():
            if rows.any():
                found.columns[name] = int(np.count_nonzero(rows))
                if name not in names.ids and (most := _largest(*(side[name] for side in both))) is not None:
                    found.largest[name] = most
        few = changed[:examples]
        pairs = zip(few.tolist(), *(side.take(few).to_pylist() for side in both), strict=True)
        found.examples["changed"] = [
            {key: before[key] for key in names.keys}
            | {name: [_shown(before[name]), _shown(after[name])] for name in names.values if differs[name][row]}
            for row, before, after in pairs
        ]
    return found


def _others(length: int, rows: Array) -> Array:
    """The places without those in `rows`."""
    return rows[:0] if len(rows) == length else np.delete(np.arange(length), rows)


def _shown(value: Any) -> Any:
    """A value that JSON can hold."""
    return value.hex() if isinstance(value, bytes) else value


def _matched(old: pa.Table, new: pa.Table, keys: list[str]) -> tuple[Array, Array]:
    """The rows of both blocks whose keys the other one has, in the order of the keys."""
    if not len(old) or not len(new):
        return np.arange(0), np.arange(0)
    pairs = [(old[key].to_numpy(), new[key].to_numpy()) for key in keys]
    if len(old) == len(new) and all(np.array_equal(*pair) for pair in pairs):
        return np.arange(len(old)), np.arange(len(old))
    columns = [np.concatenate(pair) for pair in pairs]
    order = np.lexsort([np.arange(len(columns[0])) >= len(old), *reversed(columns)])
    same = np.logical_and.reduce([column[order][1:] == column[order][:-1] for column in columns])
    return order[:-1][same], order[1:][same] - len(old)


def _largest(old: pa.ChunkedArray, new: pa.ChunkedArray) -> float | None:
    """The largest difference of two columns of numbers; None if they are not."""
    if not (_is_number(old.type) and _is_number(new.type)):
        return None
    return pc.max(pc.abs(pc.subtract(new.cast(pa.float64(), safe=False), old.cast(pa.float64(), safe=False)))).as_py() or 0.0


def _is_number(type: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type) or pa.types.is_floating(type))


def _differs(old: pa.Array, new: pa.Array) -> Array:
    """Where the values of two columns differ [n]; a null equals a null only, and floats are compared by their bits."""
    if old.type == new.type and old.equals(new):
        return np.zeros(len(old), bool)
    if pa.types.is_list(old.type) and pa.types.is_list(new.type):
        return _lists_differ(old, new)
    if old.type != new.type and not (_is_number(old.type) and _is_number(new.type)):
        old, new = old.cast(pa.string()), new.cast(pa.string())
    if old.type == new.type and pa.types.is_floating(old.type) and old.type.bit_width > 16:
        bits = pa.int64() if old.type.bit_width == 64 else pa.int32()
        old, new = old.view(bits), new.view(bits)
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


def whole(column: pa.ChunkedArray) -> pa.Array:
    """The column as one array."""
    found = column.combine_chunks()
    return pa.concat_arrays(found.chunks) if isinstance(found, pa.ChunkedArray) else found


def _chunks(column: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    return column.chunks if isinstance(column, pa.ChunkedArray) else [column]
