"""Columns that the folders around a file state, as Hive, Spark and DuckDB write them: `day=2026-11-01/part-0.parquet`."""

from collections.abc import Callable, Mapping
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
    values = {role: _value(file, role, *pair, named, weight, ids) for role, pair in stated.items()}

    def add(table: pa.Table) -> pa.Table:
        for role, value in values.items():
            table = table.append_column(role, pa.repeat(value, len(table)))
        return table

    return add


def _value(file: str, role: str, key: str, text: str, named: bool, weight: pa.DataType, ids: str) -> pa.Scalar:
    where = f"partition {key}={text}"
    if text == _NULL:
        raise BadInput(file, f"{where}: {role} is null")
    if role == "weight":
        field = Field("weight", weight, decimals=True)
    else:
        field = ends(named, hint=STRINGS, auto=ids == "auto")[0]
        if not named and ids == "auto" and id_of(text) is None:
            raise OtherForm(f"{where} in {file} is not an integer")
    if reason := explain(text.encode(), field):
        raise BadInput(file, f"{where}: {reason}")
    if named and role != "weight":
        return pa.scalar(text, pa.large_string())
    return pa.scalar(float(text) + 0.0 if pa.types.is_floating(field.type) else int(text), field.type)
