"""The change tables of a run that is not published yet, since the run before."""

import logging
from collections.abc import Mapping
from pathlib import Path
from threading import BoundedSemaphore

from pipeline.comparison.tabulate import STEP, tabulate_changes
from pipeline.comparison.versions import of_run, of_step
from pipeline.errors import Damaged
from pipeline.steps.call import Call
from pipeline.store.manifest import Folder
from pipeline.store.names import open_names
from pipeline.tables import files as tables

AT_ONCE = 2  # tables that are compared at the same time: each comparison has as many blocks in memory as there are cores
log = logging.getLogger(__name__)


class Since:
    """The steps that write the change tables of a run.

    A table may be compared before it is proved, while other stages run: `publish` requires the proof, and that the compared table
    is the published one.
    """

    def __init__(self, before: Folder, edges: Folder, work: Path, call: Call) -> None:
        """`before`: the published run before; `edges`: the edge list of this run. Raises Damaged."""
        self._old, self._edges, self._work, self._call = of_run(before), edges, work, call
        # If ids are strings, the keys of all tables are numbered by both tables of vertices, and one step compares all of them.
        vertices = self._old.get("vertices")
        self._named = bool(vertices and "id" in vertices.schema.names) or open_names(edges) is not None
        self._turns = BoundedSemaphore(AT_ONCE)
        self._made: dict[str, Folder] = {}
        self._damage: Damaged | None = None

    def compare(self, table: Folder) -> None:
        """Write the change table of a table, unless only `finish` can."""
        name = tables.table_of(table.manifest.step)
        if self._named or name not in self._old:
            return
        with self._turns:
            if self._damage:
                return
            try:
                step = f"{STEP}-{name}"
                sides = {name: self._old[name]}, {name: of_step(table)}
                self._made[name] = self._call(step, tabulate_changes, self._work / step, *sides, step=step)
            except Damaged as damage:
                self._damage = damage

    def finish(self, published: Mapping[str, Folder]) -> list[Folder]:
        """The folders of all change tables, after those that are missing were written; none if the run before is damaged.

        Args:
            published: The tables that the run will publish, by their names.
        """
        try:
            if self._damage:
                raise self._damage
            old = {name: version for name, version in self._old.items() if name not in self._made}
            new = {name: of_step(table) for name, table in published.items() if name not in self._made}
            others = self._call(STEP, tabulate_changes, self._work / STEP, old, new, self._edges)
        except Damaged as damage:
            log.warning("change_tables: none, because the previous run cannot be read: %s", damage)
            return []
        return [*self._made.values(), others]
