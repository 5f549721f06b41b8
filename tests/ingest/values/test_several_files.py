"""Sources of several files whose rows have directions, may be bad, or are completed by a table of nodes or a partition."""

import itertools
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.config.graph import Columns, GraphConfig
from pipeline.errors import BadInput
from pipeline.ingest import ingest
from pipeline.ingest.feed import joining
from pipeline.inspection.sizes import sizes_of
from pipeline.store.facts import EdgeFacts
from tests.edge_lists import rows_of_edges

HEADER = "src,dst,weight,way\n"
COLUMNS = {"columns": Columns(oneway="way")}
OPEN = {"yes": ((0, 1),), "-1": ((1, 0),), "no": ((0, 1), (1, 0))}


def write(folder, files):
    """CSV files by their names, from the lines below the header."""
    for name, lines in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(HEADER + "".join(f"{line}\n" for line in lines))
    return folder


def read(source, work, reject=0, **keys):
    folder = ingest(GraphConfig(source=str(source), **keys), work, reject=reject)
    rows = rows_of_edges(folder).to_pydict()
    return [*zip(*(map(int, column) for column in rows.values()), strict=True)], EdgeFacts.of(folder), folder


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("per_core", [joining._PER_CORE, 0])  # small files, large files
def test_directions_and_bad_rows_of_all_files(seed, per_core, tmp_path, monkeypatch):
    monkeypatch.setattr(joining, "_PER_CORE", per_core)
    draw, files, edges, refused, opened = random.Random(seed), {}, [], [], []
    for number in range(8):
        name, lines = f"{number:03}.csv", []
        for line in range(2, 2 + draw.randrange(1, 20)):
            ends, weight, way = [draw.randrange(9), draw.randrange(9)], draw.randrange(9), draw.choice([*OPEN])
            bad = draw.random() < 0.1
            lines.append(f"{ends[0]},{ends[1]},{'x' if bad else weight},{way}")
            if bad:
                refused.append((str(tmp_path / "in" / name), line, "weight", "x"))
            else:
                opened.append(way)
                edges += [(ends[one], ends[other], weight) for one, other in OPEN[way]]
        files[name] = lines
    found, facts, folder = read(write(tmp_path / "in", files), tmp_path / "work", reject=1000, **COLUMNS)
    assert found == edges
    assert facts.directions.model_dump() == {
        "forward": opened.count("yes"), "reverse": opened.count("-1"), "both": opened.count("no"), "closed": 0
    }  # fmt: skip
    assert facts.rejected.model_dump() == {"rows": len(refused), "read": len(opened) + len(refused)}
    table = pq.read_table(folder.path / "rejected.parquet").select(["file", "line", "column", "value"]).to_pydict()
    assert [*zip(*table.values(), strict=True)] == refused
    assert sum(file.edges for file in facts.source.files.listed) == len(edges) == facts.edges


def test_the_limit_of_bad_rows_is_that_of_all_files(tmp_path):
    source = write(tmp_path / "in", {"a.csv": ["1,2,x,no", "2,3,1,no"], "b.csv": ["3,4,1,no", "4,5,y,no"], "c.csv": ["x,2,1,no"]})
    keys = COLUMNS | {"ids": "integer"}
    assert len(read(source, tmp_path / "3", reject=3, **keys)[0]) == 4
    assert len(read(source, tmp_path / "share", reject=0.6, **keys)[0]) == 4
    for limit in (2, 0.59):
        with pytest.raises(
            BadInput, match=r"in: 3 of 5 rows are refused.*the first: line 2 of .*a\.csv: weight 'x' is not a number"
        ):
            read(source, tmp_path / "2", reject=limit, **keys)
    with pytest.raises(BadInput, match=r"a\.csv:.*2: weight 'x' is not a number"):
        read(source, tmp_path / "0", **keys)
    (tmp_path / "one").mkdir()
    (source / "c.csv").rename(tmp_path / "one" / "c.csv")
    table = pq.read_table(read(tmp_path / "one", tmp_path / "of-one", reject=1, **keys)[2].path / "rejected.parquet")
    assert table["file"].to_pylist() == [str(tmp_path / "one" / "c.csv")]


def test_parquet_files_have_directions_and_bad_rows(tmp_path):
    (tmp_path / "in").mkdir()
    for number, (weights, ways) in enumerate([([1, 2], ["FT", "B"]), ([3, -4], ["TF", "FT"])]):
        table = pa.table({"src": [0, 1], "dst": [1, 2], "weight": weights, "way": ways})
        pq.write_table(table, tmp_path / "in" / f"{number}.parquet")
    assert sizes_of(GraphConfig(source=str(tmp_path / "in"), **COLUMNS)).edges > 0
    edges, facts, folder = read(tmp_path / "in", tmp_path / "work", reject=1, **COLUMNS)
    assert edges == [(0, 1, 1), (1, 2, 2), (2, 1, 2), (1, 0, 3)]
    assert (facts.directions.both, facts.directions.reverse, facts.rejected.read, facts.refers_to) == (1, 1, 4, None)
    table = pq.read_table(folder.path / "rejected.parquet")
    assert [table[name].to_pylist() for name in ("file", "line")] == [[str(tmp_path / "in" / "1.parquet")], [1]]


@pytest.mark.parametrize("names", [["a.csv"], ["a.csv", "b.csv"]])
def test_travel_times_are_counted_over_all_files(names, tmp_path):
    for name in names:
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / name).write_text("src,dst,weight,speed\n1,2,100,36\n2,3,100,\n")
    edges, facts, _ = read(tmp_path / "in", tmp_path / "work", columns=Columns(speed="speed"), speed={"default": 72})
    assert edges == [(1, 2, 10_000), (2, 3, 5_000)] * len(names)
    assert (facts.travel_times.rows, facts.travel_times.by_default) == (2 * len(names), len(names))


def test_a_partition_states_the_direction_or_an_end(tmp_path):
    for way, src in itertools.product(["yes", "-1", "__HIVE_DEFAULT_PARTITION__"], [1, 2]):
        folder = tmp_path / "in" / f"way={way}" / f"src={src}"
        folder.mkdir(parents=True)
        (folder / "part.csv").write_text("dst,weight\n7,3\n")
    edges, facts, _ = read(tmp_path / "in", tmp_path / "work", **COLUMNS)
    assert sorted(edges) == sorted([(1, 7, 3), (7, 1, 3), (2, 7, 3), (7, 2, 3)] * 2)
    assert facts.directions.model_dump() == {"forward": 2, "reverse": 2, "both": 2, "closed": 0}
    assert sizes_of(GraphConfig(source=str(tmp_path / "in"), **COLUMNS)).edges > 0
    (tmp_path / "in" / "way=yes").rename(tmp_path / "in" / "way=perhaps")
    with pytest.raises(BadInput, match=r"partition way=perhaps: oneway 'perhaps' is not a known direction"):
        read(tmp_path / "in", tmp_path / "work", **COLUMNS)


def test_the_two_weights_of_a_row_are_columns(tmp_path):
    (tmp_path / "in" / "weight=3").mkdir(parents=True)
    (tmp_path / "in" / "weight=3" / "part.csv").write_text("src,dst,back\n1,2,4\n")
    with pytest.raises(BadInput, match="states weight or reverse_weight; with reverse_weight, both must be columns"):
        read(tmp_path / "in", tmp_path / "work", columns=Columns(reverse_weight="back"))


@pytest.mark.parametrize("ids", ["integer", "string"])
def test_vertices_that_a_table_of_nodes_declares(ids, tmp_path):
    source = write(tmp_path / "in", {"a.csv": ["1,2,3,yes"], "b.csv": ["2,3,4,yes"]})
    (tmp_path / "nodes.csv").write_text("person,kind\n1,a\n9,b\n")
    keys = {"nodes": str(tmp_path / "nodes.csv"), "node_columns": {"vertex": "person", "declare": True}, "ids": ids}
    edges, facts, _ = read(source, tmp_path / "work", **keys)
    assert (edges[:2], facts.alone) == (([(1, 2, 3), (2, 3, 4)], 2) if ids == "integer" else ([(0, 1, 3), (1, 2, 4)], None))
    assert ids == "integer" or facts.declared_vertices == 4


def test_files_in_another_encoding(tmp_path):
    for name, text in {"a.csv": "src;dst\nKöln;Graz\n", "b.csv": "dst;src\nKöln;Zürich\n"}.items():
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / name).write_text(text, encoding="cp1252")
    assert read(tmp_path / "in", tmp_path / "work", encoding="cp1252", delimiter=";")[0] == [(1, 0), (2, 1)]
    with pytest.raises(BadInput, match=r"[ab]\.csv:.*2: "):
        read(tmp_path / "in", tmp_path / "other", delimiter=";")
