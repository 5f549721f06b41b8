"""Columns of three values, of every type that a program writes, and the programs that write them into files."""

import datetime
import decimal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

NUMBERS, TEXTS = [1, 2, 3], ["1", "2", "3"]
UNITS = ("s", "ms", "us", "ns")
LONG = [text * 70_000 for text in TEXTS]


@dataclass(frozen=True)
class Writer:
    """A program: its columns of every type by name, and how it writes columns, some of them plain lists, into a file."""

    kinds: Mapping[str, Any]
    write: Callable[[Path, Mapping[str, Any]], None]


def _named(*kinds: pa.DataType) -> dict[str, pa.Array]:
    return {str(kind): pa.array(NUMBERS, pa.float64() if pa.types.is_floating(kind) else kind).cast(kind) for kind in kinds}


def _dictionary(values: Sequence[Any], kind: pa.DataType, index: pa.DataType) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], index), pa.array(values, kind))


_ARROW = {
    **_named(*(getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64))),
    **_named(pa.float16(), pa.float32(), pa.float64()),
    **{str(kind): pa.array(TEXTS).cast(kind) for kind in (pa.string(), pa.large_string(), pa.string_view())},
    "texts of 2,500 characters": pa.array([text * 2_500 for text in TEXTS]),
    "texts of 70,000 characters": pa.array(LONG),
    "dictionary of string": _dictionary(TEXTS, pa.string(), pa.int32()),
    "dictionary of large_string": _dictionary(TEXTS, pa.large_string(), pa.uint8()),
    "dictionary of int64": _dictionary(NUMBERS, pa.int64(), pa.int8()),
    "json": pa.ExtensionArray.from_storage(pa.json_(), pa.array(TEXTS)),
    "bool": pa.array([True, False, True]),
    "null": pa.nulls(3),
    **_named(pa.decimal32(9, 2), pa.decimal64(18, 2), pa.decimal128(38, 2), pa.decimal256(70, 2)),
    **_named(pa.date32(), pa.time32("s"), pa.time32("ms"), pa.time64("us")),
    "time64[ns]": pa.array([1000, 2000, 3000], pa.time64("ns")),  # Python's times have microseconds
    "date64": pa.array([datetime.date(2026, 1, day) for day in NUMBERS], pa.date64()),
    **_named(*(kind for unit in UNITS for kind in (pa.duration(unit), pa.timestamp(unit), pa.timestamp(unit, "Europe/Berlin")))),
    **{
        str(kind): pa.array([b"a", b"b", b"c"], kind) for kind in (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(1))
    },
    "uuid": pa.ExtensionArray.from_storage(pa.uuid(), pa.array([bytes([value] * 16) for value in NUMBERS], pa.binary(16))),
    "bool8": pa.ExtensionArray.from_storage(pa.bool8(), pa.array(NUMBERS, pa.int8())),
    **{str(kind): pa.array([[1], [2, 3], []], kind) for kind in (pa.list_(pa.int64()), pa.large_list(pa.int64()))},
    "fixed_size_list": pa.array([[1, 2]] * 3, pa.list_(pa.int64(), 2)),
    "struct": pa.array([{"a": 1, "src": 1}, {"a": 2, "src": 1}, None]),
    "map": pa.array([[("a", 1)]] * 3, pa.map_(pa.string(), pa.int64())),
    "list of struct": pa.array([[{"a": 1, "b": "x"}], [], None]),
}


_PANDAS = {
    **{kind: pd.Series(NUMBERS, dtype=kind) for kind in ("int8", "uint64", "Int64", "float64", "Float32", "int64[pyarrow]")},
    **{kind: pd.Series(TEXTS, dtype=kind) for kind in ("object", "string", "str", "string[python]", "string[pyarrow]")},
    "category of text": pd.Series(TEXTS, dtype="category"),
    "ordered category": pd.Series(pd.Categorical(TEXTS, ordered=True)),
    "category of numbers": pd.Series(NUMBERS, dtype="category"),
    "texts of 70,000 characters": pd.Series(LONG),
    "None": pd.Series([None, None, None], dtype=object),
    "NaN": pd.Series([float("nan")] * 3),
    "bool": pd.Series([True, False, True]),
    "boolean": pd.Series([True, None, True], dtype="boolean"),
    "Decimal": pd.Series([decimal.Decimal(f"{value}.5") for value in NUMBERS]),
    "date": pd.Series([datetime.date(2026, 1, day) for day in NUMBERS]),
    "time": pd.Series([datetime.time(hour) for hour in NUMBERS]),
    **{f"datetime64[{unit}]": pd.Series(["2020-01-01", None, "2021-01-01"]).astype(f"datetime64[{unit}]") for unit in UNITS},
    "datetime with a zone": pd.Series(pd.to_datetime(["2020-01-01"] * 3)).dt.tz_localize("Europe/Berlin"),
    **{f"timedelta64[{unit}]": pd.Series(NUMBERS).astype(f"timedelta64[{unit}]") for unit in UNITS},
    "bytes": pd.Series([b"a", b"b", b"c"]),
    "lists": pd.Series([[1], [2], []]),
    "dictionaries": pd.Series([{"a": 1}] * 3),
}


_POLARS = {
    **{str(kind): pl.Series(NUMBERS, dtype=kind) for kind in (pl.Int8, pl.Int64, pl.UInt16, pl.UInt64, pl.Float32, pl.Float64)},
    "String": pl.Series(TEXTS),
    "texts of 70,000 characters": pl.Series(LONG),
    "Categorical": pl.Series(TEXTS, dtype=pl.Categorical),
    "Enum": pl.Series(TEXTS, dtype=pl.Enum(TEXTS)),
    "Boolean": pl.Series([True, False, None]),
    "Null": pl.Series([None, None, None]),
    "Decimal": pl.Series([decimal.Decimal("1.5")] * 3),
    "Date": pl.Series([datetime.date(2026, 1, 1)] * 3),
    "Time": pl.Series([datetime.time(hour) for hour in NUMBERS]),
    **{
        f"{kind.__name__} {unit}": pl.Series(NUMBERS).cast(kind(unit))
        for kind in (pl.Datetime, pl.Duration)
        for unit in ("ms", "us", "ns")
    },
    "Datetime with a zone": pl.Series(NUMBERS).cast(pl.Datetime("us", "Europe/Berlin")),
    "Binary": pl.Series([b"a", b"b", b"c"]),
    "List": pl.Series([[1], [2], []]),
    "Array": pl.Series([[1, 2]] * 3, dtype=pl.Array(pl.Int64, 2)),
    "Struct": pl.Series([{"a": 1}] * 3),
}


def _sql(kind: str, *values: str) -> list[str]:
    return [f"CAST({value} AS {kind})" for value in values or ("1", "2", "3")]


_INTEGERS = [f"{sign}{size}INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG", "HUGE")]
_DUCKDB = {
    **{kind: _sql(kind) for kind in (*_INTEGERS, "INTEGER", "UINTEGER", "FLOAT", "DOUBLE", "DECIMAL(4,1)", "DECIMAL(38,2)")},
    **{kind: _sql(kind, "'1'", "'2'", "'3'") for kind in ("VARCHAR", "JSON", "ENUM('1', '2', '3')")},
    "BOOLEAN": _sql("BOOLEAN"),
    "texts of 70,000 characters": [f"repeat('{text}', 70000)" for text in TEXTS],
    "NULL": ["NULL"] * 3,
    "UUID": ["uuid()"] * 3,
    "BLOB": _sql("BLOB", "'a'", "'b'", "'c'"),
    "BIT": _sql("BIT", "'001'", "'010'", "'100'"),
    **{kind: _sql(kind, *["'2026-01-01'"] * 3) for kind in ("DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")},
    "TIMESTAMPTZ": _sql("TIMESTAMPTZ", *["'2026-01-01'"] * 3),
    "TIME": _sql("TIME", *["'12:00'"] * 3),
    "INTERVAL": ["INTERVAL 1 DAY"] * 3,
    "LIST": ["[1]"] * 3,
    "ARRAY": ["array_value(1, 2)"] * 3,
    "STRUCT": ["{'a': 1}"] * 3,
    "MAP": ["MAP {'a': 1}"] * 3,
}


def _write_arrow(path: Path, columns: Mapping[str, Any], **options: Any) -> None:
    pq.write_table(pa.table(dict(columns)), path, **options)


def _write_pandas(path: Path, columns: Mapping[str, Any]) -> None:
    pd.DataFrame(columns).to_parquet(path)


def _write_polars(path: Path, columns: Mapping[str, Any]) -> None:
    pl.DataFrame(columns).write_parquet(path)


def _write_duckdb(path: Path, columns: Mapping[str, Any]) -> None:
    literals = [["'insert'" if one == "insert" else str(one) for one in column] for column in columns.values()]
    rows = ", ".join(f"({', '.join(row)})" for row in zip(*literals, strict=True))
    names = ", ".join(f'"{name}"' for name in columns)
    duckdb.sql(f"COPY (FROM (VALUES {rows}) rows({names})) TO '{path}' (FORMAT parquet)")


WRITERS = {
    "pyarrow": Writer(_ARROW, _write_arrow),
    "pyarrow, version 2 pages": Writer(_ARROW, partial(_write_arrow, use_dictionary=False, data_page_version="2.0")),
    "pyarrow, without Arrow's schema": Writer(_ARROW, partial(_write_arrow, store_schema=False, write_statistics=False)),
    "pandas": Writer(_PANDAS, _write_pandas),
    "Polars": Writer(_POLARS, _write_polars),
    "DuckDB": Writer(_DUCKDB, _write_duckdb),
}
