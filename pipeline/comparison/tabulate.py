"""Change tables: beside each table of a run, the rows by which it differs from the same table of an earlier run.

Each is read back and proved: its keys ascend, and what it removes, changes and adds makes the new table of the old one, by
fingerprints of both.
"""

import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kernels.cpu.parallel import cores, over_items
from pipeline.comparison.blocks import whole
from pipeline.comparison.difference import Comparison, TableDifference
from pipeline.comparison.fingerprints import Fingerprints
from pipeline.comparison.numbers import Numbers, numbers_of
from pipeline.comparison.versions import Version
from pipeline.errors import BadConfig, ProofFailed
from pipeline.store.digests import digest_of_file
from pipeline.store.facts import ChangedFacts, ChangesFacts, CheckFacts
from pipeline.store.manifest import Folder, digest_of, make
from pipeline.tables import changes
from pipeline.tables import files as tables
from pipeline.tables.coordinates import write_coordinates

STEP = "change_tables"
RULES = (
    "its keys ascend, each once, and its rows are added, removed or changed",
    "what it removes, changes and adds makes the new table of the old one: equal fingerprints of 64 bits",
)
Versions = Mapping[str, Version]


def tabulate_changes(path: Path, old: Versions, new: Versions, edges: Folder | None = None) -> Folder:
    """Write the change tables of two runs, by the tables of each.

    A table has none if only one of the runs has it, if its columns or their types differ, or if the ids of only one source are
    strings.

    Args:
        path: The folder, which has a folder `NAME_changes` for each table, and is kept if the tables have not changed.
        edges: The edge list of a run that is not published yet, whose table `coordinates` is not among `new`.

    Returns:
        The folder. Facts: `ChangesFacts`.

    Raises:
        Damaged: A table cannot be read.
        ProofFailed: A change table, read back, does not make the new table of the old one. Nothing is written.
    """

    def write(folder: Path) -> dict[str, Any]:
        after, seconds, found = {**new}, 0.0, dict[str, ChangedFacts]()
        if placed := write_coordinates(edges, folder) if edges else None:
            after[placed.name] = Version({file: digest_of_file(file) for file in tables.files(placed)})
        numbers, reason = _numbers(old, after)
        reasons = dict.fromkeys(old.keys() - after, "only the old run has it")
        reasons |= dict.fromkeys(after.keys() - old, "only the new run has it")
        for name in sorted(old.keys() & after):
            if why := reason or _why_not(name, old[name], after[name], numbers is not None):
                reasons[name] = why
            else:
                changed = _Changes(name, old[name], after[name], numbers)
                found[name] = changed.write(folder / f"{name}{changes.SUFFIX}")
                seconds += changed.seconds
        if placed:
            shutil.rmtree(placed)
        proof = CheckFacts(rules=[*RULES], seconds=round(seconds, 6))
        return ChangesFacts(tables=found, not_compared=dict(sorted(reasons.items())), proof=proof).stored()

    inputs = {
        f"{side} {name}": table.digest for side, versions in (("old", old), ("new", new)) for name, table in versions.items()
    }
    return make(path, STEP, inputs | ({"edges": edges.digest} if edges else {}), {}, write)


def _numbers(old: Versions, new: Versions) -> tuple[Numbers | None, str]:
    try:
        return numbers_of(old, new), ""
    except BadConfig:
        return None, "the ids of only one of the sources are strings"


def _why_not(name: str, old: Version, new: Version, named: bool) -> str:
    """Why two versions of a table cannot have a change table; empty if they can."""
    before, after = (
        {column: version.schema.field(column).type for column in changes.compared(name, version.schema, named)}
        for version in (old, new)
    )
    for column, kind in after.items():
        if column not in before:
            return f"column {column} is new"
        if before[column] != kind:
            return f"column {column} is {kind}, and was {before[column]}"
    return next((f"column {column} is gone" for column in before if column not in after), "")


@dataclass
class _Changes:
    """The change table of one table; `seconds` are those of its proof."""

    name: str
    old: Version
    new: Version
    numbers: Numbers | None
    seconds: float = 0.0
    _held: list[pa.Table] = field(default_factory=list)

    def write(self, folder: Path) -> ChangedFacts:
        """Write the files, and prove them, read back."""
        comparison = Comparison(self.name, self.old, self.new, self.numbers)
        prints = Fingerprints(len(comparison.columns.keys) + len(comparison.columns.values))
        moved: list[int] = []
        schema = changes.schema(self.name, self.old.schema, self.new.schema, self.numbers is not None)
        folder.mkdir()
        with tables.Files(folder, schema, changes.keys(self.name), cores()) as files:

            def take(rows: pa.Table) -> None:
                self._held.append(self._ids(rows, Numbers.named).select(schema.names).cast(schema))
                while sum(map(len, self._held)) > tables.ROWS_PER_GROUP:
                    self._put(files, tables.ROWS_PER_GROUP)

            found = comparison.run(take=take, prints=(prints, moved))
            self._put(files)
            if not files.paths:
                files.begin(0)
        paths = self._renamed(folder, files.paths)
        started = time.perf_counter()
        self._require(sum(moved), found, paths, prints)
        self.seconds = time.perf_counter() - started
        largest = {name: value for name, value in found.largest.items() if isfinite(value)}
        counts = {kind: getattr(found, kind) for kind in ("added", "removed", "changed")}
        return ChangedFacts(rows=[*found.rows], **counts, columns=found.columns, largest=largest)

    def _ids(self, rows: pa.Table, replaced: Callable[[Numbers, pa.Array], pa.Array]) -> pa.Table:
        """The rows with other values in the columns of ids, if these are strings in the source."""
        for place, name in enumerate(rows.schema.names if self.numbers else ()):
            if self.numbers and changes.plain(name) in changes.ids(self.name):
                rows = rows.set_column(place, name, replaced(self.numbers, whole(rows[name])))
        return rows

    def _put(self, files: tables.Files, most: int | None = None) -> None:
        """Write the first held rows as a row group; all of them, which are the last ones, without `most`."""
        if not any(map(len, self._held)):
            return
        rows = pa.concat_tables(self._held)
        self._held = [rows[most:]] if most else []
        (group,) = rows[:most].combine_chunks().to_batches()
        files.write(files.rows // tables.ROWS_PER_FILE, group)

    def _renamed(self, folder: Path, paths: Mapping[int, Path]) -> list[Path]:
        """Name the files: those of several as `pipeline.tables.files.published_names`."""
        mark = f"-{digest_of([[*side.files.values()] for side in (self.old, self.new)])[:16]}" if len(paths) > 1 else ""
        return [
            path.rename(folder / tables.file_name(number).replace(".parquet", f"{mark}.parquet"))
            for number, path in sorted(paths.items())
        ]

    def _require(self, moved: int, found: TableDifference, paths: list[Path], prints: Fingerprints) -> None:
        """Raise ProofFailed unless the files make the new table of the old one, whose fingerprints differ by `moved`."""
        places = [(path, group) for path in paths for group in range(pq.read_metadata(path).num_row_groups)]
        read = over_items(places, lambda place: self._read(*place, prints), parallel=len(places) > 1)
        ends = [end for _, keys in read for end in keys]
        if not all(below < above for below, above in pairwise(ends)) or (
            found.rows[0] - found.removed + found.added != found.rows[1]
        ):
            raise ProofFailed(f"{self.name}{changes.SUFFIX}: its keys do not ascend, or its rows are not those of the two tables")
        if (sum(by for by, _ in read) - moved) % 2**64:
            raise ProofFailed(f"{self.name}{changes.SUFFIX}: does not make the new table of the old one")

    def _read(self, path: Path, group: int, prints: Fingerprints) -> tuple[int, list[tuple[Any, ...]]]:
        """By how much a row group moves the fingerprint, and its first and last key; two equal ones if its keys do not ascend."""
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            rows = self._ids(file.read_row_group(group, use_threads=False), Numbers.numbered)
        keys = [rows[key].to_numpy() for key in changes.keys(self.name)]
        less, equal = np.zeros(len(rows) - 1, bool), np.ones(len(rows) - 1, bool)
        for key in keys:
            less |= equal & (key[:-1] < key[1:])
            equal &= key[:-1] == key[1:]
        ends = [tuple(key[at] for key in keys) for at in ((0, -1) if len(rows) > 1 else (0,))]
        sides = ((-1, changes.OLD, "removed"), (1, changes.NEW, "added"))
        moved = 0
        for sign, mark, kind in sides:
            chosen = rows.filter(pc.is_in(rows["kind"], pa.array([kind, "changed"])))
            names = [name for name in rows.schema.names if name in changes.keys(self.name) or name.startswith(mark)]
            moved += sign * prints.of(chosen.select(names)) if len(chosen) else 0
        return moved, ends if less.all() else [ends[0], ends[0]]
