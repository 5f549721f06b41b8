"""Columns are found by name or number: their order in a file, and what stands between them, changes no edge."""

from itertools import permutations

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from pipeline.config.graph import GraphConfig
from pipeline.ingest import ingest
from pipeline.store.names import open_names
from tests.edge_lists import rows_of_edges

IDS = {"integers": ([5, 9, 9], [9, 5, 11]), "strings": (["eve", "fay", "fay"], ["fay", "eve", "gus, jr"])}
NUMBERS = {"integers": IDS["integers"], "strings": ([0, 1, 1], [1, 0, 2])}
WEIGHTS = {"none": None, "int64": [4, 8, 2], "double": [4.0, 8.5, 2.0]}
ORDERS = list(permutations(["dst", "weight", "note", "src"]))[::3]


def written(path, table):
    """Write a table as the suffix says."""
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        options = pyarrow.csv.WriteOptions(delimiter="\t" if path.suffix == ".tsv" else ",")
        pyarrow.csv.write_csv(table, path, options)


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
def test_the_order_of_the_columns_changes_no_edge(suffix, ids, weight, tmp_path):
    columns = dict(zip(("src", "dst"), IDS[ids], strict=True)) | {"note": ["x", "", "7"], "weight": WEIGHTS[weight]}
    expected = dict(zip(("src", "dst"), NUMBERS[ids], strict=True)) | {"weight": WEIGHTS[weight]}
    for place, order in enumerate(ORDERS):
        path, names = tmp_path / f"{place}.{suffix}", [name for name in order if columns[name]]
        written(path, pa.table({name: columns[name] for name in names}))
        found = ingest(GraphConfig(source=str(path)), tmp_path / str(place))
        assert rows_of_edges(found).to_pydict() == {name: values for name, values in expected.items() if values}, names
        if ids == "strings":
            assert open_names(found).array().to_pylist() == ["eve", "fay", "gus, jr"]


def test_numbered_columns_may_be_in_any_order(tmp_path):
    (tmp_path / "g.txt").write_text("3 eve fay\n4 fay gus\n")
    columns = {"src": 3, "dst": 2, "weight": 1}
    asked = {"format": "csv", "header": False, "delimiter": " ", "columns": columns}
    found = ingest(GraphConfig(source=str(tmp_path / "g.txt"), **asked), tmp_path / "work")
    assert rows_of_edges(found).to_pydict() == {"src": [1, 2], "dst": [0, 1], "weight": [3, 4]}


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
def test_the_order_of_the_columns_of_coordinates_changes_no_place(suffix, tmp_path):
    (tmp_path / "g.csv").write_text("src,dst\n5,9\n")
    columns = {"note": ["a", "b"], "lat": [50.0, 51.5], "id": [9, 5], "lon": [8, 7]}
    for place, order in enumerate([*permutations(columns)][::3]):
        path = tmp_path / f"{place}.{suffix}"
        written(path, pa.table({name: columns[name] for name in order}))
        asked = {"coordinates": str(path), "node_columns": {"vertex": "id", "x": "lon", "y": "lat"}}
        found = ingest(GraphConfig(source=str(tmp_path / "g.csv"), **asked), tmp_path / str(place))
        table = pq.read_table(found.path / "coordinates.parquet")
        assert table.to_pydict() == {"vertex": [5, 9], "x": [7.0, 8.0], "y": [51.5, 50.0]}, order
