"""Columns that the folders around a file state, as Hive, Spark and DuckDB write them: `day=2026-11-01/part-0.parquet`."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from urllib.parse import unquote

import pyarrow as pa

from pipeline.config.graph import GraphConfig
from pipeline.errors import BadInput
from pipeline.ingest.fields import STRINGS, Field, OtherForm, ends, explain
from pipeline.texts import id_of

_NULL = "__HIVE_DEFAULT_PARTITION__"


def keys_of(url: str) -> dict[str, str]:
    """The keys and values of the partition in which a file is."""
    pairs = (folder.partition("=") for folder in url.split("/")[:-1])
    return {unquote(key): unquote(value) for key, _, value in pairs if key and value}


def in_partition(url: str, graph: GraphConfig) -> GraphConfig:
    """How a file is read: as the configuration says, with the columns that its partition states."""
    if not graph.partitions or not (keys := keys_of(url)):
        return graph
    return graph.model_copy(update={"columns": graph.columns.in_partition(keys)})


def constants(
    file: str, stated: Mapping[str, tuple[str, str]], named: bool, weight: pa.DataType, ids: str
) -> Callable[[pa.Table], pa.Table]:
    """What adds columns to the tables of a file: `stated` are key and value by role, `ids` is the key of the configuration.

    Raises:
        BadInput: A value is null, or is no id or weight.
        OtherForm, Decimals: The file must be read again, with strings as ids or decimals as weights.
    """
    end = ends(named, hint=STRINGS, auto=ids == "auto")[0]
    values = dict[str, pa.Scalar]()
    for role, (key, text) in stated.items():
        field = Field("weight", weight, decimals=True) if role == "weight" else replace(end, name=role)
        if field.may_be_text and not named and id_of(text) is None and text != _NULL:
            raise OtherForm(f"partition {key}={text} of {file} is not an integer")
        reason = "is null" if text == _NULL else explain(text.encode(), field)
        if reason:
            raise BadInput(file, f"partition {key}={text}: {role} {reason.removeprefix(role).strip()}")
        values[role] = pa.scalar(_value(text, field.type), field.type)

    def add(table: pa.Table) -> pa.Table:
        for role, value in values.items():
            table = table.append_column(role, pa.repeat(value, len(table)))
        return table

    return add


def _value(text: str, kind: pa.DataType) -> str | int | float:
    if pa.types.is_integer(kind):
        return int(text)
    return float(text) + 0.0 if pa.types.is_floating(kind) else text
