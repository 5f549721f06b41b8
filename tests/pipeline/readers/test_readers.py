"""Pandas, Polars, DuckDB and GeoPandas read every table of a run, with the same values."""

import json

import duckdb
import geopandas
import pandas
import polars
import pyarrow.parquet as pq
import pytest

from pipeline.registry.products import PRODUCTS
from pipeline.store.facts.run import RunFacts
from pipeline.store.manifest import read
from pipeline.tables.definitions import TABLES

BY_COMMANDS = {table.name for product in PRODUCTS.values() if not product.configuration for table in product.tables} - {"sssp"}
PUBLISHED = sorted(TABLES.keys() - BY_COMMANDS - {"rejected", "nearest_zones"})  # which have no vertices


def rows_of(records):
    """Rows whose lists are lists, and whose missing values are None, whoever has read them."""
    return [
        [None if value is pandas.NA else list(value) if hasattr(value, "tolist") else value for value in row] for row in records
    ]


def test_the_run_has_every_table(everything):
    assert sorted(RunFacts.of(read(everything)).tables) == PUBLISHED


@pytest.mark.parametrize("table", PUBLISHED)
def test_every_reader_has_the_same_rows(everything, table):
    arrow = pq.read_table(everything / table)
    columns = [column for column in arrow.schema.names if column != "geometry"]
    expected = [list(row.values()) for row in arrow.select(columns).to_pylist()]
    assert expected and all(len(row) == len(columns) for row in expected)
    frame = pandas.read_parquet(everything / table, dtype_backend="pyarrow")[columns]
    assert rows_of(frame.astype(object).to_numpy().tolist()) == expected
    assert polars.read_parquet(f"{everything}/{table}/*.parquet").select(columns).rows() == [tuple(row) for row in expected]
    selected = ", ".join(f'"{column}"' for column in columns)
    assert rows_of(duckdb.sql(f"SELECT {selected} FROM '{everything}/{table}/*.parquet'").fetchall()) == expected
    described = RunFacts.of(read(everything)).tables[table]
    assert described.rows == len(expected) and [column["name"] for column in described.columns] == arrow.schema.names


@pytest.mark.parametrize(
    ("table", "kinds"),
    [
        ("vertices", {"Point"}), ("coordinates", {"Point"}), ("arcs", {"LineString"}), ("isochrone_polygons", {"MultiPolygon"}),
    ],
)  # fmt: skip
def test_geometries_are_those_that_the_metadata_state(everything, table, kinds):
    frame = geopandas.read_parquet(everything / table)
    assert set(frame.geometry.dropna().geom_type) == kinds and frame.crs.to_string() == "OGC:CRS84"
    (file,) = (everything / table).glob("*.parquet")
    stated = json.loads(pq.read_schema(file).metadata[b"geo"])["columns"]["geometry"]["geometry_types"]
    assert kinds <= {*stated}
    texts = duckdb.sql(f"SELECT geometry::VARCHAR FROM '{file}'").fetchall()
    assert [text for (text,) in texts] == [shape and shape.wkt for shape in frame.geometry]
