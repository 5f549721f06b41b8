"""Differences between two runs: for each table the keys that were added or removed, and the values that changed.

Both versions of a table are sorted by its keys, so they are merged range by range, and all cores take the ranges of all tables.
Memory does not grow with them, but for two numbers of each vertex if ids are strings (`pipeline.comparison.numbers`).
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pyarrow as pa

from kernels.cpu.parallel import cores
from kernels.spans import span
from pipeline.comparison.blocks import KINDS, ComparedColumns, compare_blocks
from pipeline.comparison.matching import Matchings, Unordered
from pipeline.comparison.merging import Key, VersionReader, aligned, ranges
from pipeline.comparison.numbers import CommonNumbers, numbers_of
from pipeline.comparison.replay import replays
from pipeline.comparison.versions import Version, of_run
from pipeline.errors import Damaged, ProofFailed
from pipeline.runtime.threads import map_in_order
from pipeline.store.facts.run import RunFacts
from pipeline.store.manifest import Folder
from pipeline.tables import changes
from pipeline.tables.changes import ROW
from pipeline.tables.definitions import PLACE

Item = TypeVar("Item")


@dataclass
class TableDifference:
    """The differences between two versions of a table."""

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
    """The differences between two runs: their ids, tables that only one has, and tables that both have."""

    old: str
    new: str
    added: list[str]
    removed: list[str]
    tables: dict[str, TableDifference]
    not_compared: dict[str, str]  # tables of both, and why their rows cannot be matched


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
    both = {name: (table, after[name]) for name, table in before.items() if name in after}
    reasons = {name: why for name, versions in both.items() if (why := _unlike_keys(name, *versions))}
    comparisons = [Comparison(name, *versions, numbers) for name, versions in both.items() if name not in reasons]
    for one, part in compared(comparisons, examples):
        one.take(part, examples)
    return RunDifference(
        RunFacts.of(old).run,
        RunFacts.of(new).run,
        sorted(after.keys() - before),
        sorted(before.keys() - after),
        {one.name: one.result() for one in comparisons},
        reasons,
    )


def _unlike_keys(name: str, old: Version, new: Version) -> str:
    """Why rows of two versions of a table cannot be matched; empty if they can."""
    before, after = (changes.keys(name, version.schema.names) for version in (old, new))
    placed = [{key for key in keys if key.endswith(PLACE)} for keys in (before, after)]
    if placed[0] != placed[1]:
        return f"only the {'new' if placed[1] > placed[0] else 'old'} run has a row for each place"
    alike = all(_is_text(old, key) == _is_text(new, key) for key in before if key in after)
    return "" if alike else "the ids of places are texts in only one of the runs"


def _is_text(version: Version, key: str) -> bool:
    return key in version.schema.names and pa.types.is_string(version.schema.field(key).type)


def compare(name: str, old: Version, new: Version, examples: int = 0, numbers: CommonNumbers | None = None) -> TableDifference:
    """Compare two versions of a table; with `numbers` by the ids of the source, which are strings."""
    comparison = Comparison(name, old, new, numbers)
    for _, part in compared([comparison], examples):
        comparison.take(part, examples)
    return comparison.result()


@dataclass
class Part:
    """The differences in a range of keys; `difference.rows` are those of the range.

    If a change table is wanted: its rows, proved, with the kinds as a dictionary; and the seconds of the proof.
    """

    difference: TableDifference
    rows: list[pa.Table] = field(default_factory=list)
    seconds: float = 0.0


class Comparison:
    """Two versions of a table.

    Attributes:
        columns: Those of both.
    """

    def __init__(
        self, name: str, old: Version, new: Version, numbers: CommonNumbers | None = None, tabulated: bool = False
    ) -> None:
        """`tabulated`: the rows of a change table are wanted."""
        self.name, self.numbers, self._versions, self._tabulated = name, numbers, (old, new), tabulated
        named = numbers is not None
        present = [changes.compared(name, version.schema, named) for version in (old, new)]
        shared = [column for column in present[0] if column in present[1]]
        both = [changes.keys(name, columns) for columns in present]
        keys = both[0] if both[0] == both[1] else [ROW]  # only one graph has parallel arcs, which a column of their own numbers
        self.columns = ComparedColumns(keys, [column for column in shared if column not in keys], changes.ids(name, new.schema))
        common = [dict.fromkeys(self.columns.ids & {*shared}, of_run) for of_run in numbers.of_runs] if numbers else [{}, {}]
        same_ids = numbers is None or numbers.of_runs[0] is numbers.of_runs[1]
        # A file that both have is not read: its keys, of which a table has each once, are in no other file.
        unread = old.common(new) if same_ids and keys != [ROW] else set[str]()
        read = [version.without(unread) for version in (old, new)]
        self._sides = [VersionReader(version, shared, keys, own) for version, own in zip(read, common, strict=True)]
        self._same = old.same(new) and same_ids
        self._read = [version.rows - of_read.rows for version, of_read in zip((old, new), read, strict=True)]
        extra, lost = ([one for one in a if one not in b] for a, b in (present[::-1], present))
        self._difference = TableDifference((old.rows, new.rows), new_columns=extra, lost_columns=lost)

    def ranges(self) -> list[tuple[Key, Key]]:
        """The ranges of keys to compare; none if both versions have the same bytes."""
        key_ranges = [] if self._same else ranges(*self._sides)
        for side in self._sides:
            side.share(key_ranges)
        return key_ranges

    def part(self, keys: tuple[Key, Key], examples: int, matchings: Matchings) -> Part:
        """Compare a range of keys; list up to this many rows of each kind. Raises Damaged and ProofFailed."""
        part = Part(TableDifference((0, 0)))
        for old, new in aligned(self._sides, *keys):
            try:
                with span(f"compare {self.name}", "compare"):
                    block = compare_blocks(old, new, self.columns, examples, matchings.of)
            except Unordered as error:
                raise Damaged(f"{next(iter(self._versions[1].files)).parent}: {error}") from None
            if self._tabulated:
                rows, started = block.rows(), time.perf_counter()
                with span(f"prove changes of {self.name}", "proof"):
                    replayed = replays(old, new, rows, self.columns)
                if not replayed:
                    raise ProofFailed(f"{self.name}{changes.SUFFIX}: does not turn the old table into the new one")
                part.seconds += time.perf_counter() - started
                part.rows += [rows] if len(rows) else []
            of_block = TableDifference((len(old), len(new)), *block.counts, block.columns, block.largest)
            of_block.examples |= block.examples
            part.difference.absorb(of_block, examples)
            part.difference.rows = part.difference.rows[0] + len(old), part.difference.rows[1] + len(new)
        return part

    def take(self, part: Part, examples: int = 0) -> None:
        """Add the part of the next range."""
        self._difference.absorb(part.difference, examples)
        self._read = [done + more for done, more in zip(self._read, part.difference.rows, strict=True)]

    def result(self) -> TableDifference:
        """The differences, after the parts of all ranges. Raises Damaged unless the parts have every row once."""
        for version, read, rows in zip(self._versions, self._read, self._difference.rows, strict=True):
            if read != rows and not self._same:
                raise Damaged(f"{next(iter(version.files)).parent}: {read} of {rows} rows are in the order of the table's keys")
        if self.numbers:
            for row in (row for rows in self._difference.examples.values() for row in rows):
                row |= {name: self._named(value) for name, value in row.items() if name in self.columns.ids}
        return self._difference

    def _named(self, value: Any) -> Any:
        assert self.numbers
        if isinstance(value, list) and value and isinstance(value[0], list):
            return [self._named(one) for one in value]
        several = value if isinstance(value, list) else [value]
        names = self.numbers.named(pa.array(several, pa.int64())).to_pylist()
        return names if isinstance(value, list) else names[0]


def compared(comparisons: Sequence[Comparison], examples: int = 0) -> Iterator[tuple[Comparison, Part]]:
    """The parts of several comparisons, each in order; all cores share the ranges of all of them.

    The first ranges of all tables come first, then the second ones, because most tables have the same keys there.
    """
    matchings = Matchings(max(4, cores() // 2))

    def of_range(task: tuple[Comparison, tuple[Key, Key]]) -> tuple[Comparison, Part]:
        return task[0], task[0].part(task[1], examples, matchings)

    return map_in_order(of_range, _in_turns([_ranges_of(one) for one in comparisons]), cores(), each=2)


def _ranges_of(comparison: Comparison) -> Iterator[tuple[Comparison, tuple[Key, Key]]]:
    for keys in comparison.ranges():
        yield comparison, keys


def _in_turns(several: Sequence[Iterator[Item]]) -> Iterator[Item]:
    """The first item of each iterator, then the second ones, and so on."""
    left = [*several]
    while left:
        for one in [*left]:
            try:
                yield next(one)
            except StopIteration:
                left.remove(one)
