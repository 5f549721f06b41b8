"""What differs between two runs: for each table its keys that were added or removed, and its values that changed.

Both versions of a table are sorted by its keys, so they are merged range by range, on all cores. Memory does not grow with them,
but for two numbers of each vertex if ids are strings (`pipeline.comparison.numbers`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa

from kernels.cpu.parallel import cores
from pipeline.comparison.blocks import Columns, compare_blocks
from pipeline.comparison.fingerprints import Fingerprints
from pipeline.comparison.merging import Key, Side, aligned, ranges
from pipeline.comparison.numbers import Numbers, numbers_of
from pipeline.comparison.versions import Version, of_run
from pipeline.runtime.threads import map_in_order
from pipeline.store.facts.run import RunFacts
from pipeline.store.manifest import Folder
from pipeline.tables import changes

KINDS = ("added", "removed", "changed")


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
    examples: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    new_columns: list[str] = field(default_factory=list)
    lost_columns: list[str] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return not (self.added or self.removed or self.changed or self.new_columns or self.lost_columns)

    def absorb(self, later: "TableDifference", examples: int) -> None:
        """Add what differs in a range of larger keys; keep this many examples of each kind."""
        for kind in KINDS:
            setattr(self, kind, getattr(self, kind) + getattr(later, kind))
            self.examples[kind] += later.examples[kind][: examples - len(self.examples[kind])]
        for name, count in later.columns.items():
            self.columns[name] = self.columns.get(name, 0) + count
        for name, most in later.largest.items():
            self.largest[name] = max(self.largest.get(name, 0.0), most)


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
    before, after = of_run(old), of_run(new)
    numbers = numbers_of(before, after)
    return RunDifference(
        RunFacts.of(old).run,
        RunFacts.of(new).run,
        sorted(after.keys() - before),
        sorted(before.keys() - after),
        {name: compare(name, table, after[name], examples, numbers) for name, table in before.items() if name in after},
    )


def compare(name: str, old: Version, new: Version, examples: int = 0, numbers: Numbers | None = None) -> TableDifference:
    """Compare two versions of a table; with `numbers` by the ids of the source, which are strings."""
    return Comparison(name, old, new, numbers).run(examples)


class Comparison:
    """Two versions of a table.

    Attributes:
        columns: Those of both.
        new_columns, lost_columns: Names of those that only one version has.
    """

    def __init__(self, name: str, old: Version, new: Version, numbers: Numbers | None = None) -> None:
        self.numbers, self._versions = numbers, (old, new)
        named = numbers is not None
        present = [changes.compared(name, version.schema, named) for version in (old, new)]
        self.new_columns, self.lost_columns = ([one for one in a if one not in b] for a, b in (present[::-1], present))
        shared = [column for column in present[0] if column in present[1]]
        keys = changes.keys(name)
        self.columns = Columns(keys, [column for column in shared if column not in keys], changes.ids(name))
        common = [dict.fromkeys(self.columns.ids & {*shared}, of_run) for of_run in numbers.of_runs] if numbers else [{}, {}]
        self._sides = [Side(version, shared, keys, own) for version, own in zip((old, new), common, strict=True)]

    def run(
        self,
        examples: int = 0,
        take: Callable[[pa.Table], None] | None = None,
        prints: tuple[Fingerprints, list[int]] | None = None,
    ) -> TableDifference:
        """Compare all rows.

        Args:
            examples: How many rows of each kind are listed.
            take: Is given the changes, in the order of the keys, as `compare_blocks` has them.
            prints: Fingerprints, and a list that receives for each range that of the new rows without that of the old.
        """
        old, new = self._sides
        found = TableDifference((old.rows, new.rows), new_columns=self.new_columns, lost_columns=self.lost_columns)
        if self._versions[0].same(self._versions[1]) and self._same_numbers():
            return found
        work = partial(self._compare, examples, take is not None, prints[0] if prints else None)
        for part, rows, moved in map_in_order(work, ranges(old, new), cores()):
            found.absorb(part, examples)
            if take:
                for table in rows:
                    take(table)
            if prints:
                prints[1].append(moved)
        if self.numbers:
            for row in (row for rows in found.examples.values() for row in rows):
                row |= {name: self._named(value) for name, value in row.items() if name in self.columns.ids}
        return found

    def _same_numbers(self) -> bool:
        return self.numbers is None or self.numbers.of_runs[0] is self.numbers.of_runs[1]

    def _compare(
        self, examples: int, wanted: bool, prints: Fingerprints | None, keys: tuple[Key, Key]
    ) -> tuple[TableDifference, list[pa.Table], int]:
        """What differs in a range of keys; its changed rows if they are wanted, and by how much the fingerprint does."""
        found, rows, moved = TableDifference((0, 0)), list[pa.Table](), 0
        for old, new in aligned(self._sides, *keys):
            if len(old) == len(new) and old.equals(new):
                continue
            if prints:
                moved += sum(sign * prints.of(self.columns.of(side)) for sign, side in ((-1, old), (1, new)) if len(side))
            block = compare_blocks(old, new, self.columns, examples)
            found.absorb(TableDifference((0, 0), *block.counts, block.columns, block.largest, block.examples), examples)
            if wanted and any(block.counts):
                rows.append(block.rows())
        return found, rows, moved

    def _named(self, value: Any) -> Any:
        assert self.numbers
        if isinstance(value, list) and value and isinstance(value[0], list):
            return [self._named(one) for one in value]
        several = value if isinstance(value, list) else [value]
        names = self.numbers.named(pa.array(several, pa.int64())).to_pylist()
        return names if isinstance(value, list) else names[0]
