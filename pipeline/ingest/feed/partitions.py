"""Columns that the folders around a file state, as Hive, Spark and DuckDB write them: `day=2026-11-01/part-0.parquet`."""

from collections.abc import Callable
from dataclasses import replace
from urllib.parse import unquote

import pyarrow as pa

from pipeline.config.graph import GraphConfig
from pipeline.errors import BadInput
from pipeline.ingest.fields import STRINGS, Field, OtherForm, ends, explain
from pipeline.ingest.formats.format import EdgeList, ReadColumns, as_arcs
from pipeline.ingest.values.oneway import Meanings
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


def completed(file: str, edges: EdgeList, weight: pa.DataType, graph: GraphConfig) -> EdgeList:
    """The edges of a file with the columns that its partition states; `weight` is the type of a weight that it states.

    Raises:
        BadInput: A value is null, or is no id, weight or direction.
        OtherForm, Decimals: The file must be read again, with strings as ids or decimals as weights.
    """
    columns = edges.columns
    if not (columns and columns.constants):
        return edges
    values = {role: _constant(file, role, stated, edges.named, weight, graph) for role, stated in columns.constants.items()}
    names = {**columns.names, **{role: key for role, (key, _) in columns.constants.items()}}
    whole = replace(edges, tables=map(_adding(values), edges.tables), columns=ReadColumns(names, columns.ignored))
    return as_arcs(replace(whole, weight=weight if "weight" in values else edges.weight, rereadable=False))


def _adding(values: dict[str, pa.Scalar]) -> Callable[[pa.Table], pa.Table]:
    def add(table: pa.Table) -> pa.Table:
        for role, value in values.items():
            table = table.append_column(role, pa.repeat(value, len(table)))
        return table

    return add


def _constant(
    file: str, role: str, stated: tuple[str, str], named: bool, weight: pa.DataType, graph: GraphConfig
) -> pa.Scalar:  # fmt: skip
    """The value of a column that a partition states by a key and a text."""
    (key, text), meanings = stated, Meanings.of(graph)
    fields = {
        "weight": Field("weight", weight, decimals=True),
        "oneway": Field("oneway", pa.int8(), nullable=True, meanings=meanings),
    }
    field = fields.get(role) or replace(ends(named, hint=STRINGS, auto=graph.ids == "auto")[0], name=role)
    if field.may_be_text and not named and id_of(text) is None and text != _NULL:
        raise OtherForm(f"partition {key}={text} of {file} is not an integer")
    if text == _NULL and not field.nullable:
        raise BadInput(file, f"partition {key}={text}: {role} is null")
    text = "" if text == _NULL else text
    if fault := explain(text.encode(), field):
        raise BadInput(file, f"partition {key}={text}: {role} {fault.reason.removeprefix(role).strip()}")
    return pa.scalar(meanings.code(text) if role == "oneway" else _value(text, field.type), field.type)


def _value(text: str, kind: pa.DataType) -> str | int | float:
    if pa.types.is_integer(kind):
        return int(text)
    return float(text) + 0.0 if pa.types.is_floating(kind) else text
