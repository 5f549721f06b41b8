"""What differs between two published runs: for each table its keys that were added or removed, and its values that changed.

Both tables are sorted by their keys, so they are merged block by block. Memory does not grow with them, but for two numbers of
each vertex if ids are strings (`pipeline.inspection.numbers`).
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.graph import Array
from pipeline.inspection.merging import ROW, Side, aligned
from pipeline.inspection.numbers import Numbers, numbers_of
from pipeline.store.facts.run import RunFacts, TableFacts
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables


@dataclass
class TableDifference:
    """What differs between two versions of a table."""

    rows: tuple[int, int]
    added: int = 0
    removed: int = 0
    changed: int = 0  # rows with the same key and other values
    columns: dict[str, int] = field(default_factory=dict)  # how many values of a column changed
    largest: dict[str, float] = field(default_factory=dict)  # the largest change of a column of numbers
    # The first few of each kind: keys, for a changed row also the old and the new values of its columns that changed.
    examples: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {"added": [], "removed": [], "changed": []})
    new_columns: list[str] = field(default_factory=list)
    lost_columns: list[str] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return not (self.added or self.removed or self.changed or self.new_columns or self.lost_columns)


@dataclass(frozen=True)
class RunDifference:
    """What differs between two runs: their ids, tables that only one of them has, and those that both have."""

    old: str
    new: str
    added: list[str]
    removed: list[str]
    tables: dict[str, TableDifference]


def difference(old: Folder, new: Folder, examples: int = 3) -> RunDifference:
    """Compare the tables of two published runs, which may be of different graphs or output folders.

    Args:
        examples: How many rows of each kind are listed for a table.

    Raises:
        Damaged: A table cannot be read.
        BadConfig: The ids of only one of them are strings.
    """
    before, after, numbers = RunFacts.of(old), RunFacts.of(new), numbers_of(old, new)
    both = [table for table in before.tables if table in after.tables]
    return RunDifference(
        before.run,
        after.run,
        sorted(set(after.tables) - set(both)),
        sorted(set(before.tables) - set(both)),
        {
            table: compare_tables(table, (old, new), (before.tables[table], after.tables[table]), examples, numbers)
            for table in both
        },
    )


def compare_tables(
    name: str, runs: tuple[Folder, Folder], facts: tuple[TableFacts, TableFacts], examples: int, numbers: Numbers | None = None
) -> TableDifference:
    """Compare a table that both runs have, by its facts in them; with `numbers` by the ids of the source, which are strings."""
    described = [{column["name"]: column for column in of.columns} for of in facts]
    found = TableDifference(
        (facts[0].rows, facts[1].rows),
        new_columns=[column for column in described[1] if column not in described[0]],
        lost_columns=[column for column in described[0] if column not in described[1]],
    )
    contents = [[run.manifest.files[file].sha256 for file in of.files] for run, of in zip(runs, facts, strict=True)]
    if contents[0] == contents[1] and not numbers:
        return found
    # Columns `x` and `y` state what a geometry does.
    shared = [name for name, column in described[0].items() if name in described[1] and column["type"] != "binary"]
    keys = [column.name for column in tables.TABLES.get(name, ()) if column.key] or [ROW]
    ids = {column for column in shared if described[1][column]["unit"].startswith("external id")}
    merged = _Merged(found, keys, [column for column in shared if column not in keys], ids, examples)
    common = [dict.fromkeys(ids, of_run) for of_run in numbers.of_runs] if numbers else [{}, {}]
    sides = [Side(run.path, of.files, shared, keys, own) for run, of, own in zip(runs, facts, common, strict=True)]
    for blocks in aligned(*sides):
        merged.add(*blocks)
    if numbers:
        for row in (row for rows in found.examples.values() for row in rows):
            row |= {name: numbers.named(value) for name, value in row.items() if name in ids}
    return found


@dataclass
class _Merged:
    """Counts the differences of blocks into `found`."""

    found: TableDifference
    keys: list[str]
    values: list[str]
    ids: set[str]  # columns of ids, whose differences have no size
    examples: int

    def add(self, old: pa.Table, new: pa.Table) -> None:
        """Compare two blocks of the same range of keys."""
        left, right = self._matched(old, new)
        for kind, table, matched in (("removed", old, left), ("added", new, right)):
            if len(matched) < len(table):
                rest = np.delete(np.arange(len(table)), matched)
                setattr(self.found, kind, getattr(self.found, kind) + len(rest))
                self._show(kind, table.select(self.keys).take(rest[: self.examples]).to_pylist())
        if not len(left):
            return
        old, new = (table if len(rows) == len(table) else table.take(rows) for table, rows in ((old, left), (new, right)))
        differs = {name: _differs(old[name].combine_chunks(), new[name].combine_chunks()) for name in self.values}
        changed = np.flatnonzero(np.logical_or.reduce([*differs.values(), np.zeros(len(old), bool)]))
        self.found.changed += len(changed)
        for name, rows in differs.items():
            self._count(name, rows, old[name], new[name])
        few = changed[: self.examples]
        pairs = zip(few.tolist(), old.take(few).to_pylist(), new.take(few).to_pylist(), strict=True)
        self._show("changed", [
            {key: before[key] for key in self.keys}
            | {name: [before[name], after[name]] for name in self.values if differs[name][row]}
            for row, before, after in pairs
        ])  # fmt: skip

    def _matched(self, old: pa.Table, new: pa.Table) -> tuple[Array, Array]:
        """The rows of both blocks whose keys the other one has, in the order of the keys."""
        if not len(old) or not len(new):
            return np.arange(0), np.arange(0)
        pairs = [(old[key].to_numpy(), new[key].to_numpy()) for key in self.keys]
        if len(old) == len(new) and all(np.array_equal(*pair) for pair in pairs):
            return np.arange(len(old)), np.arange(len(old))
        columns = [np.concatenate(pair) for pair in pairs]
        order = np.lexsort([np.arange(len(columns[0])) >= len(old), *reversed(columns)])
        same = np.logical_and.reduce([column[order][1:] == column[order][:-1] for column in columns])
        return order[:-1][same], order[1:][same] - len(old)

    def _count(self, name: str, rows: Array, old: pa.ChunkedArray, new: pa.ChunkedArray) -> None:
        if not rows.any():
            return
        self.found.columns[name] = self.found.columns.get(name, 0) + int(np.count_nonzero(rows))
        if name not in self.ids and _is_number(old.type) and _is_number(new.type):
            most = pc.max(pc.abs(pc.subtract(new.cast(pa.float64(), safe=False), old.cast(pa.float64(), safe=False)))).as_py()
            self.found.largest[name] = max(self.found.largest.get(name, 0.0), most or 0.0)

    def _show(self, kind: str, rows: list[dict[str, Any]]) -> None:
        listed = self.found.examples[kind]
        listed += rows[: self.examples - len(listed)]


def _is_number(type: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type) or pa.types.is_floating(type))


def _differs(old: pa.Array, new: pa.Array) -> Array:
    """Where the values of two columns differ [n]; a null equals a null only."""
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
