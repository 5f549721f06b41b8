"""Numbers by which the vertices of two runs are compared, if the ids of their sources are strings.

Each run numbers its vertices in the order of their ids, so with one new id other vertices have other numbers. Numbered in the
order of the ids of both runs, a vertex has one number, and all tables are still sorted.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.graph import Array
from pipeline.errors import BadConfig
from pipeline.inspection.merging import Side, aligned
from pipeline.inspection.path import Described
from pipeline.store.facts.run import RunFacts
from pipeline.store.manifest import Folder


@dataclass(frozen=True)
class Numbers:
    """Common numbers of the vertices of two runs: for each run int64 [V], ascending, at the places of its own numbers."""

    runs: tuple[Folder, Folder]
    of_runs: tuple[Array, Array]

    @cached_property
    def _described(self) -> list[Described]:
        return [Described(run, RunFacts.of(run)) for run in self.runs]

    def named(self, value: Any) -> Any:
        """The id of the vertex with a common number, also within a list; null stays."""
        if isinstance(value, list):
            return [self.named(one) for one in value]
        for numbers, described in zip(self.of_runs, self._described, strict=True):
            if value is not None and (place := int(np.searchsorted(numbers, value))) < len(numbers) and numbers[place] == value:
                return described.row(place)["id"]
        return value


def numbers_of(old: Folder, new: Folder) -> Numbers | None:
    """The common numbers of two runs; None if both number their vertices in the same way.

    Raises BadConfig if the ids of only one of them are strings.
    """
    tables = [RunFacts.of(run).tables.get("vertices") for run in (old, new)]
    named = [table is not None and any(column["name"] == "id" for column in table.columns) for table in tables]
    if named[0] != named[1]:
        raise BadConfig(
            f"{(old, new)[named[1]].path}: its ids are strings, those of the other run are integers; nothing compares them"
        )
    before, after = tables
    if not (all(named) and before and after):
        return None
    if [old.manifest.files[file].sha256 for file in before.files] == [new.manifest.files[file].sha256 for file in after.files]:
        return None
    found: tuple[list[Array], list[Array]] = ([np.empty(0, np.int64)], [np.empty(0, np.int64)])
    total = 0
    for blocks in aligned(Side(old.path, before.files, ["id"], ["id"]), Side(new.path, after.files, ["id"], ["id"])):
        names = pc.unique(pa.chunked_array([chunk for block in blocks if len(block) for chunk in block["id"].chunks]))
        names = names.take(pc.sort_indices(names))
        for numbers, block in zip(found, blocks, strict=True):
            if len(block):
                numbers.append(pc.index_in(block["id"].combine_chunks(), names).to_numpy().astype(np.int64) + total)
        total += len(names)
    return Numbers((old, new), (np.concatenate(found[0]), np.concatenate(found[1])))
