"""Zones: groups of vertices that have the same value in a column of the table of nodes, such as a district."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.graph import Array
from kernels.reductions.groups import GroupSums
from pipeline.errors import BadConfig, BadInput
from pipeline.ingest.formats.parquet.types import is_text
from pipeline.steps.products.attributes import amounts_of, of_rows, require_column
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables

_BYTES = 2 * (2 * 8 + 8 + 6 * 8)  # of what is known of a group: once so far, and once of what is added


@dataclass(frozen=True)
class Zones:
    """The zones of a graph's vertices.

    Attributes:
        names: Ascending; at the end null, if a vertex has none.
        numbers (int64 [V]): That of each vertex's zone, in the order of the graph's rows.
        weights (float64 [V]): Of the vertices, in this order; 1 unless a column has them.
    """

    names: pa.Array
    numbers: Array
    weights: Array

    @classmethod
    def of(cls, edges: Folder, graph: Folder, keys: tuple[str, str], zone: str, weight: str | None) -> Self:
        """The zones of the column `zone`, and the weights of another; `keys` name both in messages. Raises BadConfig."""
        kind, (key, key_of_weight) = require_column(edges, keys[0], zone), keys
        if not (is_text(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_date(kind)):
            raise BadConfig(f"{key}: column {zone!r} is {kind}; a zone is a text, an integer, a truth value or a date")
        column, known = of_rows(edges, graph, zone)
        encoded = column.cast(pa.string() if is_text(kind) else kind).dictionary_encode()
        order = pc.sort_indices(encoded.dictionary)
        places = np.empty(len(order) + 1, np.int64)
        places[order.to_numpy()], places[-1] = np.arange(len(order)), len(order)
        names = encoded.dictionary.take(order)
        names = names if known.all() else pa.concat_arrays([names, pa.nulls(1, names.type)])
        numbers = places[encoded.indices.fill_null(len(order)).to_numpy()]
        weights = amounts_of(edges, graph, key_of_weight, weight) if weight else np.ones(len(numbers))
        return cls(names, numbers, weights)

    def __len__(self) -> int:
        return len(self.names)

    def memory_for(self, groups: int) -> int:
        """Bytes that the sums of so many groups take."""
        return _BYTES * groups


def write_zones(
    step: str, folder: Path, schema: pa.Schema, columns: Sequence[pa.Array], sums: GroupSums, counted: Mapping[str, Array]
) -> int:
    """Write the rows of groups that have a pair, sorted as they are; return their number.

    Args:
        step: In messages.
        schema: Of the columns that name a group, then of `counted`, `min`, `mean` and, if there are weights, `weighted_mean`.
        columns: Those that name the groups, each [G].
        sums: Of the groups [G].

    Raises:
        BadInput: A sum is too large.
    """
    kept = np.flatnonzero(sums.counts[:, 0])
    means = {"mean": sums.means[kept], "weighted_mean": sums.weighted_means[kept]}
    if not np.isfinite(sums.sums).all():
        raise BadInput(step, "a sum of distances, or of weights, exceeds the largest float64")
    least = sums.least[kept]
    values = [column.take(pa.array(kept)) for column in columns] + [pa.array(of[kept]) for of in counted.values()]
    values.append(pa.array(least, mask=least < 0))
    values += [pa.array(mean, mask=np.isnan(mean)) for name, mean in means.items() if name in schema.names]
    batch = pa.RecordBatch.from_arrays(values, schema=schema)
    parts = range(tables.files_of(len(kept)))
    cuts = [batch.slice(number * tables.ROWS_PER_FILE, tables.ROWS_PER_FILE) for number in parts]
    for number, rows in enumerate(cuts):
        tables.write_rows(folder / tables.file_name(number), schema, (), [rows])
    return len(kept)


def schema_of(table: str, weight: str | None, measure: str | None, zones: Zones, weighted: bool) -> pa.Schema:
    """The columns of a table of zones; zones have the type of the column that names them."""
    plain = tables.schema(table, weight, 0, measure)
    fields = [field.with_type(zones.names.type) if field.name.endswith("zone") else field for field in plain]
    schema = pa.schema([field for field in fields if weighted or field.name != "weighted_mean"])
    means = {name: measure for name in schema.names if name.endswith("mean") and measure}
    return tables.stating(schema.with_metadata(plain.metadata), means)


def parameters(zone: str | None, weight: str | None) -> dict[str, Any]:
    """The columns, as parameters of a step's key."""
    return {"zone": zone, "zone_weight": weight}
