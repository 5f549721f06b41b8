"""Valid Parquet files as pyarrow, pandas, Polars and DuckDB write them, with ids that are integers, texts or categories.

A file has the columns of edges, pairs, changes, nodes and coordinates.
"""

import datetime
import decimal
import io
import random
import tempfile
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

IDS = ("integer", "text", "category")
_LONG = 5000  # characters of a text, more than a page header holds


def parquet(rng: random.Random) -> bytes:
    """A file of one of the programs."""
    rows = rng.choice([1, 3, 40, 200])
    kind, several = rng.choice(IDS), rng.choice([2, 30])
    ids = [[rng.randrange(several) for _ in range(rows)] for _ in range(2)]
    if kind != "integer":
        long = _LONG if rng.random() < 0.15 else 1
        ids = [[f"{'né' * long}{value}" for value in column] for column in ids]
    columns = dict(zip(("src", "dst"), ids, strict=True))
    if rng.random() < 0.6:
        columns["weight"] = [rng.randrange(1000) if kind == "text" else rng.randrange(1000) / 4 for _ in range(rows)]
    if rng.random() < 0.4:
        columns["op"] = rng.choices(["insert", "update", "delete"], k=rows)
    if rng.random() < 0.6:
        columns |= {"vertex": rng.sample(range(1000), rows), "x": [rng.random() for _ in range(rows)], "y": [0.5] * rows}
    for name in rng.sample([*_OTHERS], 2):
        columns[name] = [_OTHERS[name](row) if rng.random() < 0.9 else None for row in range(rows)]
    return rng.choice([_arrow, _pandas, _polars, _duckdb])(columns, ["src", "dst"] if kind == "category" else [], rng)


_OTHERS = {
    "bool": lambda row: row % 2 == 0,
    "decimal": lambda row: decimal.Decimal(row) / 4,
    "time": lambda row: datetime.datetime(2026, 1, 1) + datetime.timedelta(hours=row),
    "date": lambda row: datetime.date(2026, 1, 1) + datetime.timedelta(days=row),
    "text": lambda row: f"x{row % 3}" * (_LONG if row == 1 else 1),
    "list": lambda row: [row] * (row % 3),
    "struct": lambda row: {"src": row, "weight": 1.5},
    "bytes": lambda row: bytes([row % 256]),
    "nothing": lambda row: None,
}


def _arrow(columns: dict, categories: list[str], rng: random.Random) -> bytes:
    table = pa.table(
        {name: pa.array(values).dictionary_encode() if name in categories else values for name, values in columns.items()}
    )
    if not categories and rng.random() < 0.3:
        view = {pa.string(): rng.choice([pa.large_string(), pa.string_view()])}
        table = table.cast(pa.schema([(field.name, view.get(field.type, field.type)) for field in table.schema]))
    sink = io.BytesIO()
    pq.write_table(
        table, sink,
        compression=rng.choice(["none", "snappy", "zstd", "lz4"]),
        use_dictionary=rng.random() < 0.5,
        row_group_size=rng.choice([25, 1000]),
        data_page_version=rng.choice(["1.0", "2.0"]),
        write_statistics=rng.random() < 0.7,
        write_page_checksum=rng.random() < 0.3,
        write_page_index=rng.random() < 0.3,
    )  # fmt: skip
    return sink.getvalue()


def _pandas(columns: dict, categories: list[str], rng: random.Random) -> bytes:
    frame = pd.DataFrame(columns).astype(dict.fromkeys(categories, "category"))
    if "time" in columns:
        frame["time"] = frame["time"].astype(f"datetime64[{rng.choice(['s', 'ms', 'us', 'ns'])}]")
    return frame.to_parquet(row_group_size=rng.choice([25, 1000]), compression=rng.choice([None, "snappy"]))


def _polars(columns: dict, categories: list[str], rng: random.Random) -> bytes:
    frame = pl.DataFrame(columns, strict=False).with_columns(*(pl.col(name).cast(pl.Categorical) for name in categories))
    sink = io.BytesIO()
    frame.write_parquet(
        sink, compression=rng.choice(["uncompressed", "snappy", "zstd"]), row_group_size=rng.choice([25, None]),
        data_page_size=rng.choice([100, None]), statistics=rng.random() < 0.7,
    )  # fmt: skip
    return sink.getvalue()


def _duckdb(columns: dict, categories: list[str], rng: random.Random) -> bytes:
    rows = pa.table(columns)
    with tempfile.TemporaryDirectory() as folder, duckdb.connect(config={"threads": 1}) as database:
        database.register("rows", rows)
        for name in categories:
            database.execute(f'CREATE TYPE "of_{name}" AS ENUM (SELECT DISTINCT "{name}" FROM rows)')
        chosen = [f'"{name}"::"of_{name}" "{name}"' if name in categories else f'"{name}"' for name in columns]
        codec, version = rng.choice(["uncompressed", "snappy", "zstd"]), rng.choice(["V1", "V2"])
        database.execute(
            f"COPY (SELECT {', '.join(chosen)} FROM rows) TO '{folder}/file'"
            f" (FORMAT parquet, CODEC '{codec}', PARQUET_VERSION {version})"
        )
        return (Path(folder) / "file").read_bytes()
