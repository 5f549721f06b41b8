"""Numbers by which the vertices of two runs are compared, if the ids of their sources are strings.

Each run numbers its vertices in the order of their ids, so with one new id other vertices have other numbers. Numbered in the
order of the ids of both runs, a vertex has one number, and all tables are still sorted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.graph import Array
from pipeline.comparison.merging import VersionReader, aligned
from pipeline.comparison.versions import Version
from pipeline.errors import BadConfig
from pipeline.store.names import UNKNOWN, VertexNames, names_in


@dataclass(frozen=True)
class CommonNumbers:
    """Common numbers of the vertices of two runs: for each run int64 [V], ascending, at the places of its own numbers."""

    of_runs: tuple[Array, Array]
    vertices: tuple[Version, Version]

    @cached_property
    def _names(self) -> list[VertexNames]:
        return [names for table in self.vertices if (names := names_in([*table.files])) is not None]

    def named(self, column: pa.Array) -> pa.Array:
        """The ids of the vertices with these common numbers, also within lists; null stays."""
        if pa.types.is_list(column.type):
            element = pa.list_(pa.field("element", pa.string(), nullable=False))
            return pa.ListArray.from_arrays(column.offsets, self.named(column.values), element, mask=_nulls(column))
        values, of_runs = column.fill_null(UNKNOWN).to_numpy(), []
        for numbers, names in zip(self.of_runs, self._names, strict=True):
            places = np.searchsorted(numbers, values)
            known = places < len(numbers)
            known[known] = numbers[places[known]] == values[known]
            of_runs.append(names.array().take(pa.array(places, mask=~known)))
        return pc.coalesce(*of_runs).cast(pa.string())

    def numbered(self, names: pa.Array) -> pa.Array:
        """The common numbers of vertices by their ids, also within lists; null stays."""
        if pa.types.is_list(names.type):
            return pa.ListArray.from_arrays(names.offsets, self.numbered(names.values), mask=_nulls(names))
        places = [of_run.find(names) for of_run in self._names]
        of_runs = [pa.array(numbers).take(pa.array(at, mask=at < 0)) for numbers, at in zip(self.of_runs, places, strict=True)]
        return pc.coalesce(*of_runs)


def numbers_of(old: Mapping[str, Version], new: Mapping[str, Version]) -> CommonNumbers | None:
    """The common numbers of two runs, by their tables; None if their ids are integers.

    Raises BadConfig if the ids of only one of them are strings.
    """
    before, after = ((run.get("vertices") or Version({})) for run in (old, new))
    named = ["id" in table.schema.names for table in (before, after)]
    if named[0] != named[1]:
        path = next(iter((before if named[0] else after).files)).parents[1]
        raise BadConfig(f"{path}: its ids are strings, but the other run's are integers; they cannot be compared")
    if not all(named):
        return None
    if before.same(after):
        same = np.arange(after.rows)
        return CommonNumbers((same, same), (before, after))
    numbers_of_runs: tuple[list[Array], list[Array]] = ([np.empty(0, np.int64)], [np.empty(0, np.int64)])
    total = 0
    for blocks in aligned([VersionReader(table, ["id"], ["id"]) for table in (before, after)]):
        names = pc.unique(pa.chunked_array([chunk for block in blocks if len(block) for chunk in block["id"].chunks]))
        names = names.take(pc.sort_indices(names))
        for numbers, block in zip(numbers_of_runs, blocks, strict=True):
            if len(block):
                numbers.append(pc.index_in(block["id"].combine_chunks(), names).to_numpy().astype(np.int64) + total)
        total += len(names)
    return CommonNumbers((np.concatenate(numbers_of_runs[0]), np.concatenate(numbers_of_runs[1])), (before, after))


def _nulls(column: pa.Array) -> pa.Array | None:
    return column.is_null() if column.null_count else None
