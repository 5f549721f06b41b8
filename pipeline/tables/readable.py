"""Rows for people and JSON: times, durations and decimals, which JSON cannot hold and Python only in part, become texts."""

import pyarrow as pa
import pyarrow.compute as pc

_ZEROS = r"\.0+$"


def readable(table: pa.Table) -> pa.Table:
    """The same rows, also of a batch; times with a zone are in UTC and end with `Z`, durations end with their unit."""
    return pa.table([_readable(column) for column in table.columns], table.schema.names)


def _readable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_duration(kind):
        return pc.binary_join_element_wise(column.cast(pa.string()), kind.unit, " ")
    if pa.types.is_timestamp(kind):
        texts = _rounded(column.cast(pa.timestamp(kind.unit)))  # the names of zones need a data base, which not every host has
        return pc.binary_join_element_wise(texts, "Z", "") if kind.tz else texts
    if pa.types.is_temporal(kind):
        return _rounded(column)
    return column.cast(pa.string()) if pa.types.is_decimal(kind) else column


def _rounded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.replace_substring_regex(column.cast(pa.string()), _ZEROS, "")
