"""Files of changes in the columns and forms of the graph's source."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.changes import change
from pipeline.changes.reading import read_changes
from pipeline.changes.rows import DELETE, INSERT, UPDATE
from pipeline.config.graph import GraphConfig
from pipeline.config.loading import checked
from pipeline.config.run import RunConfig
from pipeline.errors import BadInput
from pipeline.ingest.source import locate
from pipeline.run import run

COLUMNS = {"src": "von", "dst": "nach", "weight": "cost"}


def read(tmp_path, content, name="c.csv", named=False, kind="double", **graph):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    config = GraphConfig(source="edges.csv", **{"columns": COLUMNS} | graph)
    return read_changes(locate(str(tmp_path / name)), None, config, kind, named)


def listed(rows):
    return [*zip(rows.ops.tolist(), rows.src.to_pylist(), rows.dst.to_pylist(), rows.weights.tolist(), strict=True)]


EXPECTED = [(INSERT, 1, 2, 0.5), (DELETE, 3, 4, 0.0), (UPDATE, 5, 6, 7.0)]


@pytest.mark.parametrize("names", ["op,von,nach,cost", "op,src,dst,weight", "op,src,nach,cost", "op,von,dst,weight"])
def test_either_name_of_a_column_may_be_used(names, tmp_path):
    assert listed(read(tmp_path, f"{names}\ninsert,1,2,0.5\ndelete,3,4,\nupdate,5,6,7\n")) == EXPECTED
    columns = (["insert", "delete", "update"], [1, 3, 5], [2, 4, 6], [0.5, None, 7.0])
    pq.write_table(pa.table(dict(zip(names.split(","), columns, strict=True))), tmp_path / "p.parquet")
    assert listed(read(tmp_path, (tmp_path / "p.parquet").read_bytes(), "c.parquet")) == EXPECTED


# header, keys of the graph, what the message has
AMBIGUOUS = {
    "both names": ("op,src,von,dst,weight", {}, "columns 'src' and 'von' may both be src"),
    "swapped names": ("op,src,dst,weight", {"columns": {"src": "dst", "dst": "src"}}, "columns 'src' and 'dst' may both be src"),
    "neither name": (
        "op,a,nach,cost",
        {},
        "no column 'src', or several, among 'op', 'a', 'nach', 'cost': .*'von', 'nach', 'cost'",
    ),
    "twice": ("op,von,von,nach,cost", {}, "or several"),
    "directions": ("op,von,nach,cost,way", {"columns": COLUMNS | {"oneway": "way"}}, "a row of changes is one arc"),
}


@pytest.mark.parametrize("case", AMBIGUOUS)
def test_columns_that_may_be_two_things_are_refused(case, tmp_path):
    header, graph, reason = AMBIGUOUS[case]
    with pytest.raises(BadInput, match=reason):
        read(tmp_path, f"{header}\n" + "insert,1,2,3,4\n"[: 2 * header.count(",") + 7] + "\n", **graph)


def test_numbers_and_texts_are_those_of_the_source(tmp_path):
    text = "op;von;nach;cost\ninsert;Käthe;Zoë;1.234,5\ndelete;Zoë;Käthe;?\nupdate;a;b;2\n"
    form = {"delimiter": ";", "decimal": ",", "thousands": ".", "encoding": "cp1252", "null": ["-"], "ids": "string"}
    found = listed(read(tmp_path, text.encode("cp1252"), named=True, **form))
    assert found == [(INSERT, "Käthe", "Zoë", 1234.5), (DELETE, "Zoë", "Käthe", 0.0), (UPDATE, "a", "b", 2.0)]
    for value, reason in (("1.5", "line 5: weight '1.5' is not a number as stated"), ("-", "line 5: weight is missing")):
        with pytest.raises(BadInput, match=reason):
            read(tmp_path, (text + f"update;c;d;{value}\n").encode("cp1252"), named=True, **form)
    with pytest.raises(BadInput, match=r"line 5: dst '-' stands for no value"):
        read(tmp_path, (text + "update;c;-;2\n").encode("cp1252"), named=True, **form)


def test_a_change_of_streets_is_that_of_a_run_over_the_changed_source(tmp_path):
    """A row of the source is up to two arcs; a row of changes is one of them."""
    streets = "von,nach,cost,way\n1,2,5,B\n2,3,4,FT\n4,3,2,TF\n3,5,9,B\n"
    changes = "op,von,nach,cost\ninsert,3,2,8\ndelete,5,3,\nupdate,1,2,6\n"
    after = "von,nach,cost,way\n1,2,6,FT\n2,1,5,FT\n2,3,4,FT\n3,2,8,FT\n4,3,2,TF\n3,5,9,FT\n"
    found = []
    for name, text in (("before", streets), ("after", after)):
        (tmp_path / f"{name}.csv").write_text(text)
        graph = {"source": str(tmp_path / f"{name}.csv"), "columns": COLUMNS | {"oneway": "way"}}
        asked = {"graph": graph, "output": tmp_path / name, "stages": ["sssp", "wcc"], "sources": [1], "backend": "cpu"}
        found.append(run(checked(RunConfig, "test", **asked)))
    (tmp_path / "changes.csv").write_text(changes)
    found[0] = change(tmp_path / "before", tmp_path / "changes.csv")
    for table in ("sssp", "vertices"):
        one, other = (pq.read_table(folder.path / table) for folder in found)
        assert one.equals(other), table


OF_SPEED = {"columns": {"src": "u", "dst": "v", "weight": "length", "speed": "maxspeed"}, "speed": {"default": 36}}


def test_lengths_and_speeds_become_travel_times(tmp_path):
    text = "op,u,v,length,maxspeed\ninsert,1,2,100.05,72\ndelete,3,4,,\nupdate,5,6,7,none\n"
    expected = [(INSERT, 1, 2, 5002), (DELETE, 3, 4, 0), (UPDATE, 5, 6, 700)]  # 5002.5, half to even
    assert listed(read(tmp_path, text, kind="int64", **OF_SPEED)) == expected
    columns = (["insert", "delete", "update"], [1, 3, 5], [2, 4, 6], [100.05, None, 7], ["72", None, "none"])
    pq.write_table(pa.table(dict(zip(("op", "u", "v", "length", "maxspeed"), columns, strict=True))), tmp_path / "p.parquet")
    assert listed(read(tmp_path, (tmp_path / "p.parquet").read_bytes(), "c.parquet", kind="int64", **OF_SPEED)) == expected
    assert listed(read(tmp_path, "op,u,v,weight\ninsert,1,2,17\n", kind="int64", **OF_SPEED)) == [(INSERT, 1, 2, 17)]
    for wrong, reason in (
        ("op,u,v,length\ninsert,1,2,17\n", "column 'length' has lengths in the source"),
        ("op,u,v,weight,maxspeed\ninsert,1,2,17,50\n", "column 'maxspeed' has speeds, which need"),
        ("op,u,v,length,maxspeed\ndelete,1,2,,\ninsert,1,2,17,5O\n", "line 3: speed '5O' is not a speed"),
        ("op,u,v,length,maxspeed\ninsert,1,2,,50\n", "line 2: weight '' is absent"),
    ):
        with pytest.raises(BadInput, match=reason):
            read(tmp_path, wrong, kind="int64", **OF_SPEED)
