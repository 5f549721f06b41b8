"""The table of `graphmill check`: each file that a run reads, how, and its rows as an independent reader counts them."""

import csv
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.cli.command import app
from pipeline.config.loading import run_config
from pipeline.inspection.check import check
from pipeline.inspection.inputs import SHOWN


def files_of(folder, graph, **tables):
    config = run_config("test", graph=graph, output=folder / "out", stages=["wcc"], backend="cpu", **tables)
    return check(config).files


def rows(path: Path) -> int:
    with path.open(newline="") as file:
        return sum(1 for _ in csv.reader(file)) - 1


@pytest.mark.parametrize("parts", [SHOWN, 1000])
def test_a_feed_of_many_files_has_the_first_ones_and_a_sum(parts, tmp_path, capsys):
    for number in range(parts):
        lines = "".join(f"{vertex},{vertex + 1}\n" for vertex in range(number % 7 + 1))
        (tmp_path / f"part-{number:04}.csv").write_text("src,dst\n" + lines)
    counted = {path.name: rows(path) for path in sorted(tmp_path.glob("*.csv"))}
    source, *of_files = files_of(tmp_path, {"source": str(tmp_path)})
    assert source.rows == sum(counted.values()) == sum(file.rows for file in of_files)
    assert [(file.file.strip(), file.rows) for file in of_files[:SHOWN]] == [*counted.items()][:SHOWN]
    assert [file.file.strip() for file in of_files[SHOWN:]] == ([f"{parts - SHOWN} more files"] if parts > SHOWN else [])
    app(["check", str(tmp_path), "--backend", "cpu"], result_action="return_value", exit_on_error=False)
    printed = capsys.readouterr().out
    assert f"{source.rows:,}  {parts:,} files, csv" in printed and f"part-{SHOWN:04}.csv" not in printed.split("files   ")[0]


def test_rows_are_counted_and_not_the_arcs_that_they_become(tmp_path):
    (tmp_path / "roads.csv").write_text("src,dst,metres,oneway\n1,2,5,no\n2,3,5,yes\n3,x,1,no\n3,4,5,-1\n")
    columns = {"weight": "metres", "oneway": "oneway"}
    (source,) = files_of(
        tmp_path, {"source": str(tmp_path / "roads.csv"), "columns": columns, "ids": "integer"}, reject={"limit": 1}
    )
    assert source.rows == rows(tmp_path / "roads.csv")
    assert "oneway 'oneway'" in source.how and "ids integer" in source.how
    (tmp_path / "roads.csv").write_text("src;dst;metres;oneway\n1;2;5,5;no\n2;3;5;yes\n")
    graph = {"source": str(tmp_path / "roads.csv"), "columns": columns, "delimiter": ";", "decimal": ","}
    (source,) = files_of(tmp_path, graph)
    assert source.rows == 2 and "delimiter ';'" in source.how and "decimal ','" in source.how


def test_places_pairs_zones_and_arrivals_say_what_their_columns_are(tmp_path):
    (tmp_path / "roads.csv").write_text("src,dst,weight\n1,2,5\n2,3,5\n")
    (tmp_path / "nodes.csv").write_text(
        "vertex,x,y,district,people,beds\n1,8.1,53,a,5,\n2,8.2,53,,6,1\n3,8.3,53,b,,\n9,8,53,b,2,\n"
    )
    (tmp_path / "hospitals.csv").write_text("id,name,lon,lat,stars\nH1,North,8.1,53,4\nH2,South,8.31,53,5\n")
    (tmp_path / "shops.txt").write_text("vertex\n1\n3\n3\n")
    pq.write_table(
        pa.table({"src_lon": [8.1], "src_lat": [53.0], "dst_lon": [8.2], "dst_lat": [53.0], "trips": [3]}), tmp_path / "t.parquet"
    )
    (tmp_path / "arrivals").mkdir()
    (tmp_path / "arrivals" / "1.csv").write_text("op,src,dst\n")
    hospitals, nodes = str(tmp_path / "hospitals.csv"), str(tmp_path / "nodes.csv")
    found = {
        file.key: file
        for file in files_of(
            tmp_path, {"source": str(tmp_path / "roads.csv"), "nodes": nodes, "coordinates": nodes},
            nearest={"facilities": hospitals, "zone": "district", "zone_weight": "people"},
            isochrones={"thresholds": [5], "sources": str(tmp_path / "shops.txt"), "supply": "beds", "demand": "people"},
            flows={"pairs": str(tmp_path / "t.parquet"), "weight": "trips"}, changes={"arrivals": str(tmp_path / "arrivals")},
            snap_limit=2000,
        )
    }  # fmt: skip
    expected = {
        "graph.nodes": (4, "1 rows match no vertex"), "graph.coordinates": (4, "degrees"), "nearest.zone": (2, "'district'"),
        "nearest.zone_weight": (2, "'people'"), "isochrones.supply": (1, "'beds'"), "isochrones.demand": (2, "'people'"),
        "nearest.facilities": (2, "id 'id', name 'name', lon 'lon', lat 'lat'; with them: 'stars'; at most 669 m to the vertex"),
        "isochrones.sources": (3, "one vertex on each line"), "flows.pairs": (1, "coordinates"), "graph.source": (2, "weight"),
        "changes.arrivals": (None, "1 are there"),
    }  # fmt: skip
    assert {key: file.rows for key, file in found.items()} == {key: count for key, (count, _) in expected.items()}
    assert all(words in found[key].how for key, (_, words) in expected.items())
    assert "'src_lon', 'src_lat', 'dst_lon', 'dst_lat'; weight 'trips'" in found["flows.pairs"].how


def test_supply_may_be_a_column_of_the_places(tmp_path):
    (tmp_path / "roads.csv").write_text("src,dst,weight\n1,2,5\n2,3,5\n")
    (tmp_path / "nodes.csv").write_text("vertex,x,y,people\n1,8.1,53,5\n2,8.2,53,6\n3,8.3,53,\n")
    (tmp_path / "hospitals.csv").write_text("id,lon,lat,beds\nH1,8.1,53,4\nH2,8.3,53,\n")
    nodes = str(tmp_path / "nodes.csv")
    asked = {"thresholds": [5], "sources": str(tmp_path / "hospitals.csv"), "supply": "beds", "demand": "people"}
    graph = {"source": str(tmp_path / "roads.csv"), "nodes": nodes, "coordinates": nodes}
    found = {file.key: file for file in files_of(tmp_path, graph, isochrones=asked)}
    supply, demand = found["isochrones.supply"], found["isochrones.demand"]
    assert supply.rows == 1 and supply.file == asked["sources"] and "'beds' of the places" in supply.how
    assert demand.rows == 2 and demand.file == nodes and "1 vertex without" in demand.how
