"""Change tables: for a table NAME, NAME_changes has the rows that differ from those of an earlier version.

Their columns are the keys of the table, `old_X` and `new_X` for each other column X, and `kind`.
"""

import json
from collections.abc import Collection

import pyarrow as pa

from kernels.algorithm import Column
from pipeline.tables import files as tables
from pipeline.tables.definitions import definition_of
from pipeline.tables.points import GEOMETRY

SUFFIX = "_changes"
KIND = Column("kind", "string", "added, removed or changed")
OLD, NEW = "old_", "new_"
ROW = "row"  # the key of a table that no column sorts: the row's number
NUMBER = Column(ROW, "int64", "row of the table, from 0")
_NAMED = "the vertex in the source, whose ids are strings"


def keys(table: str, present: Collection[str]) -> list[str]:
    """The columns that identify a row of a table that has the columns `present`; see `pipeline.tables.files.keys`."""
    return [key for key in tables.keys(table, present) if key in present] or [ROW]


def ids(table: str, schema: pa.Schema) -> set[str]:
    """The columns of external ids of a table with these columns."""
    return {column.name for column in definition_of(table, schema) if column.unit.startswith("external id")}


def compared(table: str, schema: pa.Schema, named: bool) -> list[str]:
    """The columns of a table that are compared: all but those that say what others do.

    A point repeats its coordinates; if the ids of the source are strings, `named`, columns of names repeat the ids.
    """
    repeated = {GEOMETRY} if {"x", "lon"} & {*schema.names} else set()
    named_ids = {"id", *(f"{name}_name" for name in ids(table, schema))} - {*tables.keys(table)} if named else set()
    return [name for name in schema.names if name not in repeated | named_ids]


def schema(table: str, old: pa.Schema, new: pa.Schema, named: bool) -> pa.Schema:
    """Arrow schema of the change table of two versions that have these columns; if `named`, ids are strings."""
    text = pa.list_(pa.field("element", pa.string(), nullable=False))

    def type_of(name: str, side: pa.Schema) -> pa.DataType:
        if not named or name not in ids(table, side):
            return side.field(name).type
        return text if pa.types.is_list(side.field(name).type) else pa.string()

    columns = compared(table, new, named)
    own = keys(table, columns)
    fields = [pa.field(key, pa.int64() if key == ROW else type_of(key, new), nullable=False) for key in own]
    values = [name for name in columns if name not in own]
    fields += [pa.field(mark + name, type_of(name, side)) for name in values for mark, side in ((OLD, old), (NEW, new))]
    units = {
        mark + name: unit
        for mark, side in ((OLD, old), (NEW, new))
        for name, unit in json.loads((side.metadata or {}).get(tables.UNITS, b"{}")).items()
        if name in values
    }
    arrow_schema = pa.schema([*fields, pa.field(KIND.name, pa.string(), nullable=False)])
    return arrow_schema.with_metadata({tables.UNITS: json.dumps(units, ensure_ascii=False).encode()}) if units else arrow_schema


def describe(table: str, types: pa.Schema, dimensions: int = 0, measure: str | None = None) -> list[dict[str, str]]:
    """The columns of the change table of `table`, as `pipeline.tables.files.describe`."""
    plainly = pa.schema([field.with_name(plain(field.name)) for field in types])
    descriptions = tables.describe(table, plainly, dimensions, measure)
    for field, column in zip(types, descriptions, strict=True):
        own = {KIND.name: KIND.unit, ROW: NUMBER.unit}.get(field.name)
        text = pa.types.is_string(field.type.value_type if pa.types.is_list(field.type) else field.type)
        unit = own or (_NAMED if text and column["name"] in ids(table, plainly) else column["unit"])
        nulls = "never" if not field.nullable else f"the row is {'added' if field.name.startswith(OLD) else 'removed'}"
        if field.nullable and column["nulls"] != "never":
            nulls += f", or {column['nulls']}"
        column |= {"name": field.name, "unit": unit, "nulls": nulls}
    return descriptions


def plain(name: str) -> str:
    """The column of the table itself that a column of its change table is about."""
    return name.removeprefix(OLD) if name.startswith(OLD) else name.removeprefix(NEW)
