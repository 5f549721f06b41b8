"""Change tables: beside each table of a run, the rows by which it differs from the same table of an earlier run.

Each is proved: block by block, its rows turn the old table into the new one, bit by bit, and the files are read back.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernels.cpu.parallel import cores
from pipeline.comparison.change_table import ChangeTable
from pipeline.comparison.difference import compared
from pipeline.comparison.numbers import CommonNumbers, numbers_of
from pipeline.comparison.versions import Version
from pipeline.errors import BadConfig
from pipeline.runtime.threads import BoundedThreads
from pipeline.store.digests import digest_of_file
from pipeline.store.facts import CheckFacts
from pipeline.store.facts.changes import ChangesFacts
from pipeline.store.manifest import Folder, make
from pipeline.tables import changes
from pipeline.tables import files as tables

STEP = "change_tables"
RULES = (
    "its keys ascend, each once, and its rows are added, removed or changed",
    "its removed, changed and added rows turn the old table into the new one, bit by bit, and each changed row differs",
    "its files, read back, have these rows",
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
        ProofFailed: A change table, read back, does not turn the old table into the new one. Nothing is written.
    """

    def write(folder: Path) -> dict[str, Any]:
        after = {**new}
        if placed := tables.write_coordinates(edges, folder) if edges else None:
            after[placed.name] = Version({file: digest_of_file(file) for file in tables.files(placed)})
        numbers, reason = _numbers(old, after)
        reasons = dict.fromkeys(old.keys() - after, "only the old run has it")
        reasons |= dict.fromkeys(after.keys() - old, "only the new run has it")
        reasons |= {
            name: why for name in old.keys() & after if (why := reason or _why_not(name, old[name], after[name], numbers))
        }
        wanted = sorted((old.keys() & after) - reasons.keys())
        with BoundedThreads(cores(), 2 * cores()) as writers:
            made = {name: ChangeTable(name, old[name], after[name], numbers, folder, writers) for name in wanted}
            for one, part in compared([of_table.comparison for of_table in made.values()]):
                made[one.name].take(part)
            for of_table in made.values():
                of_table.end()
            tabulated = {name: of_table.finished() for name, of_table in made.items()}
        seconds = sum(of_table.seconds for of_table in made.values())
        if placed:
            shutil.rmtree(placed)
        proof = CheckFacts(rules=[*RULES], seconds=round(seconds, 6))
        return ChangesFacts(tables=tabulated, not_compared=dict(sorted(reasons.items())), proof=proof).stored()

    inputs = {
        f"{side} {name}": table.digest for side, versions in (("old", old), ("new", new)) for name, table in versions.items()
    }
    return make(path, STEP, inputs | ({"edges": edges.digest} if edges else {}), {}, write)


def _numbers(old: Versions, new: Versions) -> tuple[CommonNumbers | None, str]:
    try:
        return numbers_of(old, new), ""
    except BadConfig:
        return None, "the ids of only one of the sources are strings"


def _why_not(name: str, old: Version, new: Version, numbers: CommonNumbers | None) -> str:
    """Why two versions of a table cannot have a change table; empty if they can."""
    before, after = (
        {column: version.schema.field(column).type for column in changes.compared(name, version.schema, numbers is not None)}
        for version in (old, new)
    )
    for column, kind in after.items():
        if column not in before:
            return f"column {column} is new"
        if before[column] != kind:
            return f"column {column} is {kind}, and was {before[column]}"
    return next((f"column {column} is gone" for column in before if column not in after), "")
