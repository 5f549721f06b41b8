"""Columns of three values, of every type that a program writes; those of ids and numbers are 1, 2 and 3."""

import datetime
import decimal
import uuid

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

NUMBERS, TEXTS = [1, 2, 3], ["1", "2", "3"]
_INTEGERS = [getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64)]
_UNITS = ("s", "ms", "us", "ns")


def _dictionary(values, index=pa.int32()):
    return pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], index), values)


def _extension(kind, storage):
    return pa.ExtensionArray.from_storage(kind, storage)


ARROW = {
    **{str(kind): pa.array(NUMBERS, kind) for kind in _INTEGERS},
    **{str(kind): pa.array(NUMBERS, pa.float64()).cast(kind) for kind in (pa.float16(), pa.float32(), pa.float64())},
    **{str(kind): pa.array(TEXTS).cast(kind) for kind in (pa.string(), pa.large_string(), pa.string_view())},
    "texts of 9,000 characters": pa.array([text * 9_000 for text in TEXTS]),
    "texts of 70,000 characters": pa.array([text * 70_000 for text in TEXTS]),
    "dictionary of string": _dictionary(pa.array(TEXTS)),
    "dictionary of large_string": _dictionary(pa.array(TEXTS, pa.large_string()), pa.uint8()),
    "dictionary of int64": _dictionary(pa.array(NUMBERS)),
    "json": _extension(pa.json_(), pa.array(TEXTS)),
    "bool": pa.array([True, False, True]),
    "null": pa.nulls(3),
    **{
        str(kind): pa.array(NUMBERS, kind)
        for kind in (pa.decimal32(9, 2), pa.decimal64(18, 2), pa.decimal128(38, 2), pa.decimal256(70, 2))
    },
    **{str(kind): pa.array(NUMBERS, pa.int32()).cast(kind) for kind in (pa.date32(), pa.time32("s"), pa.time32("ms"))},
    "time64[us]": pa.array(NUMBERS, pa.time64("us")),
    "time64[ns]": pa.array([1000, 2000, 3000], pa.time64("ns")),  # Python's times have microseconds
    "date64": pa.array(NUMBERS, pa.int32()).cast(pa.date32()).cast(pa.date64()),
    **{
        str(kind): pa.array(NUMBERS, kind)
        for unit in _UNITS
        for kind in (pa.duration(unit), pa.timestamp(unit), pa.timestamp(unit, "UTC"), pa.timestamp(unit, "Europe/Berlin"))
    },
    **{
        str(kind): pa.array([b"a", b"b", b"c"], kind) for kind in (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(1))
    },
    "uuid": _extension(pa.uuid(), pa.array([bytes([value] * 16) for value in NUMBERS], pa.binary(16))),
    "bool8": _extension(pa.bool8(), pa.array(NUMBERS, pa.int8())),
    **{str(kind): pa.array([[1], [2, 3], []], kind) for kind in (pa.list_(pa.int64()), pa.large_list(pa.int64()))},
    "fixed_size_list": pa.array([[1, 2]] * 3, pa.list_(pa.int64(), 2)),
    "struct": pa.array([{"a": 1}, {"a": 2}, None]),
    "map": pa.array([[("a", 1)]] * 3, pa.map_(pa.string(), pa.int64())),
    "list of struct": pa.array([[{"a": 1, "b": "x"}], [], None]),
}
