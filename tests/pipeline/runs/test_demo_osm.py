"""The commands of `make demo-osm` in a folder of their own, on its made-up town."""

import json
import re
import runpy
import shlex
from pathlib import Path

import duckdb
import geopandas
import pyarrow.parquet as pq
import pytest

from pipeline.cli.command import app

ROOT = Path(__file__).parents[3]


def recipe():
    """The lines of the target, without those that make a file or print."""
    text = (ROOT / "Makefile").read_text().partition("\ndemo-osm:")[2].partition("\n\n")[0]
    return [shlex.split(line) for line in re.findall(r"^\t\$\(BIN\)/graphmill (.*)$", text, re.MULTILINE)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the demo ran."""
    place = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setenv("XDG_CACHE_HOME", str(place / "cache"))
        runpy.run_path(str(ROOT / "data" / "town.py"))["main"](place / "out" / "town.osm")
        text = (ROOT / "conf" / "runs" / "town.toml").read_text().replace("../../out", str(place / "out"))
        (place / "town.toml").write_text(text)
        for words in recipe():
            here = [word.replace("conf/runs/town.toml", "town.toml") for word in words]
            app(here, result_action="return_value", exit_on_error=False)
    return place / "out"


def test_it_goes_from_an_extract_to_tables_by_zones_and_a_map(folder):
    assert [words[0] for words in recipe()] == ["run", "matrix", "tiles"]
    assert "drawn along their lines" in (folder / "town" / "latest" / "report.html").read_text()
    assert (folder / "town.pmtiles").read_bytes()[:7] == b"PMTiles"
    within = geopandas.read_parquet(folder / "town" / "latest" / "isochrone_zones")
    assert len(within) > 50 and within["vertices"].min() >= 1
    rows = duckdb.sql(
        f"SELECT count(*), count(DISTINCT source_zone), sum(unreached) FROM '{folder}/town-zones/*.parquet'"
    ).fetchall()
    assert rows == [(len(within) ** 2 // 4, len(within) // 2, 0)]


def test_every_geometry_is_geoparquet_as_stated(folder):
    """For GeoPandas, and for DuckDB without an extension."""
    found = 0
    for table in sorted((folder / "town" / "latest").iterdir()):
        if not table.is_dir() or "geometry" not in geo_columns(table):
            continue
        frame, found = geopandas.read_parquet(table), found + 1
        known = frame.geometry[frame.geometry.notna()]
        assert frame.crs == "OGC:CRS84" and known.is_valid.all() and not known.is_empty.any()
        assert {*known.geom_type} <= {*geo_columns(table)["geometry"]["geometry_types"]}
        kinds = duckdb.sql(f"SELECT DISTINCT typeof(geometry) FROM '{table}/*.parquet'").fetchall()
        assert all(kind.startswith("GEOMETRY") for (kind,) in kinds)
    assert found == 4


def geo_columns(table):
    files = [*table.glob("*.parquet")]
    metadata = (pq.read_schema(files[0]).metadata or {}) if files else {}
    return json.loads(metadata.get(b"geo", b'{"columns": {}}'))["columns"]
