"""Pandas, Polars, DuckDB and GeoPandas read every table of a run, with the same values."""

import json

import duckdb
import geopandas
import pandas
import polars
import pyarrow.parquet as pq
import pytest
import shapely

from pipeline.cli.command import app
from pipeline.store.facts.run import RunFacts
from pipeline.store.manifest import read
from pipeline.tables.definitions import TABLES

BY_COMMANDS = {  # the commands that write the tables that no run publishes
    "matrix": ("matrix",), "matrix_zones": ("matrix", "--zone", "district", "--zone-weight", "people"),
}  # fmt: skip
PUBLISHED = sorted(TABLES.keys() - BY_COMMANDS)


def rows_of(records):
    """Rows whose lists are lists, and whose missing values are None, whoever has read them."""
    return [
        [None if value is pandas.NA else list(value) if hasattr(value, "tolist") else value for value in row] for row in records
    ]


@pytest.fixture(scope="module")
def folders(everything, tmp_path_factory):
    """The folder of each table."""
    written = tmp_path_factory.mktemp("commands")
    for table, (command, *options) in BY_COMMANDS.items():
        app(
            [command, str(everything), *options, "--out", str(written / table)], result_action="return_value", exit_on_error=False
        )
    return {table: written / table if table in BY_COMMANDS else everything / table for table in TABLES}


def test_the_run_has_every_table(everything):
    assert sorted(RunFacts.of(read(everything)).tables) == PUBLISHED


@pytest.mark.parametrize("table", sorted(TABLES))
def test_every_reader_has_the_same_rows(everything, folders, table):
    folder = folders[table]
    arrow = pq.read_table(folder)
    columns = [column for column in arrow.schema.names if column != "geometry"]
    expected = [list(row.values()) for row in arrow.select(columns).to_pylist()]
    assert expected and all(len(row) == len(columns) for row in expected)
    frame = pandas.read_parquet(folder, dtype_backend="pyarrow")[columns]
    assert rows_of(frame.astype(object).to_numpy().tolist()) == expected
    assert polars.read_parquet(f"{folder}/*.parquet").select(columns).rows() == [tuple(row) for row in expected]
    selected = ", ".join(f'"{column}"' for column in columns)
    assert rows_of(duckdb.sql(f"SELECT {selected} FROM '{folder}/*.parquet'").fetchall()) == expected
    if table in BY_COMMANDS:
        assert read(folder).facts["rows"] == len(expected)
        return
    described = RunFacts.of(read(everything)).tables[table]
    assert described.rows == len(expected) and [column["name"] for column in described.columns] == arrow.schema.names


@pytest.mark.parametrize(
    ("table", "kinds"),
    [
        ("vertices", {"Point"}), ("coordinates", {"Point"}), ("arcs", {"LineString"}), ("isochrone_polygons", {"MultiPolygon"}),
        ("flows", {"LineString"}), ("places", {"Point"}), ("isochrone_zones", {"Polygon"}),
    ],
)  # fmt: skip
def test_geometries_are_those_that_the_metadata_state(everything, table, kinds):
    frame = geopandas.read_parquet(everything / table)
    assert set(frame.geometry.dropna().geom_type) == kinds and frame.crs.to_string() == "OGC:CRS84"
    (file,) = (everything / table).glob("*.parquet")
    stated = json.loads(pq.read_schema(file).metadata[b"geo"])["columns"]["geometry"]["geometry_types"]
    assert kinds <= {*stated}
    texts = duckdb.sql(f"SELECT geometry::VARCHAR FROM '{file}'").fetchall()
    assert [text and shapely.from_wkt(text) for (text,) in texts] == [*frame.geometry]
