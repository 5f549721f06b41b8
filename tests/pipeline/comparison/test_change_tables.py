"""Change tables: replayed on the old table they give the new one, whatever changed; in runs, and between any two runs."""

import json
from itertools import pairwise
from pathlib import Path
from threading import Barrier

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from pipeline.changes import change
from pipeline.cli.command import app
from pipeline.comparison import blocks, change_table, difference, merging, tabulate
from pipeline.comparison.tabulate import tabulate_changes
from pipeline.comparison.versions import Version
from pipeline.config.loading import run_config
from pipeline.errors import BadConfig, Damaged, ProofFailed
from pipeline.run import run
from pipeline.steps.publication.publish import open_run
from pipeline.store.digests import digest_of_file
from pipeline.store.facts.run import RunFacts
from pipeline.store.workspace import find_run
from pipeline.tables import changes
from pipeline.tables import files as tables


def replay(old: pa.Table, changed: pa.Table, keys: list[str]) -> pa.Table:
    """The new table of the old one."""
    gone = changed.filter(pc.is_in(changed["kind"], pa.array(["removed", "changed"]))).select(keys)
    kept = old.join(gone, keys, join_type="left anti").select(old.schema.names)
    made = changed.filter(pc.is_in(changed["kind"], pa.array(["added", "changed"])))
    columns = [made[name] if name in keys else made[f"new_{name}"] for name in old.schema.names]
    found = pa.concat_tables([kept, pa.table(columns, old.schema.names).cast(kept.schema)])
    return found.sort_by([(key, "ascending") for key in keys]).cast(old.schema)


def version(folder: Path, table: str, frame: pa.Table, files: int = 2) -> Version:
    folder.mkdir(parents=True)
    cuts = [len(frame) * part // files for part in range(files + 1)]
    for number, (first, last) in enumerate(pairwise(cuts)):
        tables.write_rows(folder / tables.file_name(number), frame.schema, tables.keys(table), frame[first:last].to_batches())
    return Version({path: digest_of_file(path) for path in tables.files(folder)})


def shortest(random: np.random.Generator, weight: str) -> pa.Table:
    """A table `sssp` of some of 3 sources and 40 vertices, sorted."""
    keys = np.sort(random.choice(120, random.integers(0, 100), replace=False))
    reached = random.random(len(keys)) < 0.8
    distance = random.choice([0.0, -0.0, 1.5, np.nan], len(keys)) if weight == "double" else random.integers(0, 3, len(keys))
    predecessor = pa.array(random.integers(0, 40, len(keys)), mask=~reached)
    columns = {"source": keys // 40, "vertex": keys % 40, "distance": pa.array(distance, mask=~reached, from_pandas=False)}
    return pa.table({**columns, "predecessor": predecessor}).cast(tables.schema("sssp", weight))


@pytest.mark.parametrize("weight", ["int64", "double"])
@pytest.mark.parametrize("seed", range(3))
def test_a_change_table_replays_to_the_same_bytes_on_any_number_of_cores(tmp_path, monkeypatch, seed, weight):
    """In row groups of 8 rows, files of 16, blocks of 3."""
    for name, rows in (("ROWS_PER_GROUP", 8), ("ROWS_PER_FILE", 16)):
        monkeypatch.setattr(tables, name, rows)
    monkeypatch.setattr(merging, "ROWS", 3)
    random = np.random.default_rng(seed)
    old, new = shortest(random, weight), shortest(random, weight)
    versions = [{"sssp": version(tmp_path / side, "sssp", frame)} for side, frame in (("old", old), ("new", new))]
    found = []
    for cores in (1, 3):
        for module in (difference, tabulate):
            monkeypatch.setattr(module, "cores", lambda cores=cores: cores)
        found.append(tabulate_changes(tmp_path / f"on-{cores}", *versions))
    assert found[0].manifest.files == found[1].manifest.files and len(found[0].manifest.files) > 1
    changed = tables.read(found[0].path / "sssp_changes")
    made, due = replay(old, changed, ["source", "vertex"]), new
    assert made.drop(["distance"]).equals(due.drop(["distance"]))
    for one, other in zip(made["distance"].to_pylist(), due["distance"].to_pylist(), strict=True):
        assert repr(one) == repr(other)  # also nan and -0.0
    counts = found[0].facts["tables"]["sssp"]
    kinds = dict(zip(*(column.to_pylist() for column in pc.value_counts(changed["kind"]).flatten()), strict=True))
    assert {kind: counts[kind] for kind in ("added", "removed", "changed")} == {"added": 0, "removed": 0, "changed": 0} | kinds


@pytest.mark.parametrize("cores", [1, 3])
def test_a_row_group_in_several_ranges_is_decoded_once(tmp_path, monkeypatch, cores):
    """With added rows, ranges begin within the row groups of the old version; these were decoded for each range."""
    monkeypatch.setattr(tables, "ROWS_PER_GROUP", 10)
    monkeypatch.setattr(difference, "cores", lambda: cores)
    ids = np.arange(200)
    old, new = (
        version(tmp_path / str(len(of)), "wcc", pa.table({"vertex": of, "labels": of}).cast(tables.schema("wcc", None)))
        for of in (ids[ids % 7 > 0], ids)
    )
    decoded, true = [], pq.ParquetFile.read_row_group

    def counted(file: pq.ParquetFile, group: int, *args: object, **options: object) -> pa.Table:
        decoded.append(group)
        return true(file, group, *args, **options)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", counted)
    assert difference.compare("wcc", old, new).added == 200 - old.rows
    groups = sum(footer.num_row_groups for side in (old, new) for footer in side.footers.values())
    assert len(decoded) == groups


def test_ranges_are_compared_while_the_first_one_takes_longer(tmp_path, monkeypatch):
    """On two cores: one of them had nothing to do after the second range, until the first one was done."""
    monkeypatch.setattr(tables, "ROWS_PER_GROUP", 10)
    monkeypatch.setattr(difference, "cores", lambda: 2)
    ids, others = np.arange(60), Barrier(2)
    old, new = (
        version(tmp_path / str(label), "wcc", pa.table({"vertex": ids, "labels": ids + label}).cast(tables.schema("wcc", None)))
        for label in (0, 1)
    )
    part = difference.Comparison.part

    def slow(self: difference.Comparison, keys: tuple[object, object], *rest: object) -> difference.Part:
        if keys[0] in (None, (20,)):  # the first and the third range, which wait for each other
            others.wait(60)
        return part(self, keys, *rest)

    monkeypatch.setattr(difference.Comparison, "part", slow)
    assert difference.compare("wcc", old, new).changed == 60


@pytest.mark.parametrize(("rows", "sizes"), [(10, [10]), (11, [5, 6]), (35, [8, 9, 9, 9]), (108, [100, 8])])
def test_the_last_rows_are_several_files_of_about_equal_size(tmp_path, monkeypatch, rows, sizes):
    """They were one file of up to a million rows, which one core encoded while all others had nothing left to do."""
    monkeypatch.setattr(tables, "ROWS_PER_GROUP", 100)
    monkeypatch.setattr(change_table, "LAST_ROWS", 10)
    ids = np.arange(rows)
    old, new = (
        version(tmp_path / str(label), "wcc", pa.table({"vertex": ids, "labels": ids + label}).cast(tables.schema("wcc", None)))
        for label in (0, 1)
    )
    made = tabulate_changes(tmp_path / "made", {"wcc": old}, {"wcc": new})
    written = tables.files(made.path / "wcc_changes")
    assert [pq.read_metadata(file).num_rows for file in written] == sizes
    assert tables.read(made.path / "wcc_changes")["vertex"].to_pylist() == ids.tolist()


def test_files_that_both_versions_have_are_not_read(tmp_path, monkeypatch):
    """Rows beside such files are added, removed and changed; the change table is that of a comparison of all."""
    monkeypatch.setattr(tables, "ROWS_PER_GROUP", 10)

    def rows(ids: list[int], label: int) -> pa.Table:
        return pa.table({"vertex": ids, "labels": [label] * len(ids)}).cast(tables.schema("wcc", None))

    def written(side: str, *parts: pa.Table) -> Version:
        (tmp_path / side).mkdir()
        for number, part in enumerate(parts):
            tables.write_rows(tmp_path / side / tables.file_name(number), part.schema, ["vertex"], part.to_batches())
        return Version({path: digest_of_file(path) for path in tables.files(tmp_path / side)})

    kept = rows([*range(20, 30)], 1), rows([*range(50, 60)], 2)
    old = written("old", rows([*range(10)], 0), kept[0], kept[1], rows([70, 71], 3))
    new = written("new", rows([*range(3, 12)], 0), kept[0], rows([33, 44], 1), kept[1], rows([70, 72], 4))
    read, true = [], pq.ParquetFile.read_row_group

    def noted(file: pq.ParquetFile, *args: object, **options: object) -> pa.Table:
        read.append(file.metadata.num_rows)
        return true(file, *args, **options)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", noted)
    found = tabulate_changes(tmp_path / "found", {"wcc": old}, {"wcc": new})
    assert sorted(read) == [2, 2, 2, 9, 10]
    monkeypatch.setattr(Version, "common", lambda *_: set())
    whole = tabulate_changes(tmp_path / "whole", {"wcc": old}, {"wcc": new})
    assert whole.manifest.files == found.manifest.files and whole.facts["tables"] == found.facts["tables"]
    assert [found.facts["tables"]["wcc"][kind] for kind in ("rows", "added", "removed", "changed")] == [[32, 33], 5, 4, 1]


@pytest.mark.parametrize("wrong", ["a change is missed", "a value is wrong", "a row comes twice"])
def test_a_wrong_change_table_is_not_written(tmp_path, monkeypatch, wrong):
    rows = pa.table({"vertex": np.arange(50), "labels": np.arange(50)})
    other = rows.set_column(1, "labels", pa.array([9, *range(1, 50)])).cast(tables.schema("wcc", None))
    old, new = (
        version(tmp_path / side, "wcc", frame) for side, frame in (("a", rows.cast(tables.schema("wcc", None))), ("b", other))
    )
    true = blocks.BlockDifference.rows

    def spoilt(block: blocks.BlockDifference) -> pa.Table:
        found = true(block)
        if wrong == "a value is wrong":
            return found.set_column(2, "new_labels", pa.array([8]))
        return pa.concat_tables([found, found]) if wrong == "a row comes twice" else found[:0]

    monkeypatch.setattr(blocks.BlockDifference, "rows", spoilt)
    with pytest.raises(ProofFailed, match="wcc_changes: "):
        tabulate_changes(tmp_path / "out", {"wcc": old}, {"wcc": new})
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("table", ["closure", "isochrone_polygons"])
def test_tables_without_values_and_with_polygons_are_compared(tmp_path, table):
    def rows(*numbers: int) -> pa.Table:
        values = {"reached": numbers} if table == "closure" else {"threshold": numbers, "geometry": [bytes([n]) for n in numbers]}
        key = "vertex" if table == "closure" else "source"
        return pa.table({key: [1] * len(numbers), **values}).cast(tables.schema(table, "int64"))

    def changed(frame: pa.Table) -> pa.Table:
        return (
            frame
            if table == "closure"
            else frame.set_column(2, frame.schema.field(2), pa.array([b"1", b"2", b"4"][: len(frame)]))
        )

    old, new = rows(1, 2, 3), changed(rows(1, 2, 4))
    versions = [{table: version(tmp_path / side, table, frame, 1)} for side, frame in (("old", old), ("new", new))]
    found = tabulate_changes(tmp_path / "out", *versions)
    assert replay(old, tables.read(found.path / f"{table}_changes"), changes.keys(table, new.schema.names)).equals(new)
    json.dumps(difference.compare(table, versions[0][table], versions[1][table], 3).examples)


def test_a_zero_of_another_sign_is_a_change(tmp_path):
    """A block that differed in nothing else was taken for equal, though its bytes differ."""
    columns = {"source": [1, 1], "vertex": [1, 2], "predecessor": [None, 1]}
    versions = [
        {
            "sssp": version(
                tmp_path / str(side),
                "sssp",
                pa.table({**columns, "distance": [zero, 1.5]})
                .select(["source", "vertex", "distance", "predecessor"])
                .cast(tables.schema("sssp", "double")),
                1,
            )
        }
        for side, zero in enumerate((0.0, -0.0))
    ]
    found = tabulate_changes(tmp_path / "out", *versions)
    rows = tables.read(found.path / "sssp_changes").to_pylist()
    assert [(row["vertex"], str(row["old_distance"]), str(row["new_distance"])) for row in rows] == [(1, "0.0", "-0.0")]


ROADS = "src,dst,weight\n1,2,2\n2,3,1\n3,4,1\n4,5,{}\n"


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    """Three runs with change tables of a road network, of which the second has another weight and a new crossing."""
    folder = tmp_path_factory.mktemp("nights")
    (folder / "roads.co").write_text("p aux sp co 6\n" + "".join(f"v {n} {n * 1000000} 40000000\n" for n in range(1, 7)))
    graph = {"source": str(folder / "roads.csv"), "coordinates": str(folder / "roads.co")}
    asked = {"output": folder / "out", "stages": ["sssp", "wcc", "mst"], "sources": [1], "backend": "cpu"}
    found = []
    for text in (ROADS.format(1), ROADS.format(5) + "5,6,1\n", ROADS.format(5) + "5,6,1\n"):
        (folder / "roads.csv").write_text(text)
        found.append(run(run_config("test", graph=graph, changes={"tables": True}, **asked)))
    return folder, found


def test_a_run_publishes_what_changed_since_the_run_before(nights):
    folder, (first, second, third) = nights
    assert not RunFacts.of(first).changes and not list(first.path.glob("*_changes"))
    facts = RunFacts.of(second)
    assert facts.changes.run == RunFacts.of(first).run and not facts.changes.not_compared
    assert {*facts.changes.tables} == {"sssp", "wcc", "mst", "forest", "vertices", "arcs", "coordinates"}
    changed = open_run(folder / "out" / "runs" / second.path.name).path / "sssp_changes"
    assert tables.read(changed).to_pylist() == [
        {"source": 1, "vertex": 5, "old_distance": 5, "new_distance": 9, "old_predecessor": 4, "new_predecessor": 4,
         "kind": "changed"},
        {"source": 1, "vertex": 6, "old_distance": None, "new_distance": 10, "old_predecessor": None, "new_predecessor": 5,
         "kind": "added"},
    ]  # fmt: skip
    for table in facts.changes.tables:
        old, new = (tables.read(one.path / table) for one in (first, second))
        changed = tables.read(second.path / f"{table}_changes")
        if "geometry" in old.schema.names:
            old, new = old.drop(["geometry"]), new.drop(["geometry"])
        assert replay(old, changed, changes.keys(table, new.schema.names)).equals(new.cast(old.schema))
        described = facts.tables[f"{table}_changes"]
        assert [column["name"] for column in described.columns] == changed.schema.names and described.rows == len(changed)
    assert all(not table.added + table.removed + table.changed for table in RunFacts.of(third).changes.tables.values())
    columns = {column["name"]: (column["unit"], column["nulls"]) for column in facts.tables["sssp_changes"].columns}
    assert columns["kind"] == ("added, removed or changed", "never") and columns["vertex"] == ("external id", "never")
    assert columns["new_distance"][1].startswith("the row is removed, or ")


def test_nothing_is_compared_unless_asked(nights):
    folder, (first, *_) = nights
    graph = {"source": str(folder / "roads.csv")}
    plain = run(run_config("test", graph=graph, output=folder / "plain", stages=["wcc"], backend="cpu"))
    again = run(run_config("test", graph=graph, output=folder / "plain", stages=["wcc"], backend="cpu"))
    assert not RunFacts.of(again).changes and plain.facts["tables"].keys() == {"wcc", "vertices", "arcs"}
    assert "change_tables" not in again.facts["steps"]
    assert first.facts["tables"].keys() == {"sssp", "wcc", "mst", "forest", "vertices", "arcs", "coordinates"}


@pytest.mark.parametrize("wanted", [None, False])
def test_a_run_of_changed_edges_has_change_tables_by_default(tmp_path, wanted):
    (tmp_path / "roads.csv").write_text(ROADS.format(1))
    graph = {"source": str(tmp_path / "roads.csv")}
    run(run_config("test", graph=graph, output=tmp_path / "out", stages=["wcc"], backend="cpu", changes={"tables": wanted}))
    (tmp_path / "changes.csv").write_text("op,src,dst,weight\ndelete,2,3,\ninsert,5,6,1\n")
    published = change(tmp_path / "out", tmp_path / "changes.csv")
    assert (RunFacts.of(published).changes is None) is (wanted is False)
    assert len(tables.read(published.path / "wcc_changes")) == 4 if wanted is None else not list(published.path.glob("*_changes"))


def test_diff_writes_change_tables_of_any_two_runs(nights, tmp_path, capsys):
    _, (first, second, _) = nights
    app(
        ["diff", str(first.path), str(second.path), "--out", str(tmp_path / "out")],
        result_action="return_value",
        exit_on_error=False,
    )
    assert f"{tmp_path / 'out'}/sssp_changes" in capsys.readouterr().out
    for name in ("sssp_changes", "coordinates_changes"):
        assert (tmp_path / "out" / name / "part-00000.parquet").read_bytes() == (
            second.path / name / "part-00000.parquet"
        ).read_bytes()
    app(
        ["diff", str(second.path), str(first.path), "--out", str(tmp_path / "out"), "--json"],
        result_action="return_value",
        exit_on_error=False,
    )
    found = json.loads(capsys.readouterr().out)
    assert found["out"]["tables"]["sssp"]["removed"] == 1
    assert "removed" in tables.read(tmp_path / "out" / "sssp_changes")["kind"].to_pylist()


def test_diff_replaces_its_own_folders_only(nights):
    """It replaced runs, and even the link `latest`, by change tables."""
    folder, (first, second, _) = nights
    before = sorted(folder.rglob("*"))
    for out, words in (
        (first.path, "would be replaced; name another"),
        (folder / "out" / "latest", "would be replaced; name another"),
        (second.path / "changes", "is inside .*, the folder of a run"),
        (folder / "out" / "latest" / "report.html" / "x", "report.html is not a folder"),
        ("s3://bucket/changes", "output: is a URL; it must be a folder of this machine"),
    ):
        with pytest.raises(BadConfig, match=words):
            app(["diff", str(first.path), str(second.path), "--out", str(out)], exit_on_error=False)
    assert sorted(folder.rglob("*")) == before


def test_tables_that_cannot_be_compared_say_why(nights, tmp_path):
    folder, (_, second, _) = nights
    (folder / "floats.csv").write_text(ROADS.format(1.5))
    graph = {"source": str(folder / "floats.csv")}
    asked = {"output": folder / "out", "stages": ["sssp", "bfs"], "sources": [1, 2], "publish_as": "latest", "backend": "cpu"}
    published = run(run_config("test", graph=graph, changes={"tables": True}, **asked))
    found = RunFacts.of(published).changes
    assert found.not_compared == {
        "bfs": "only the new run has it", "mst": "only the old run has it", "forest": "only the old run has it",
        "wcc": "only the old run has it", "coordinates": "only the old run has it", "vertices": "column x is gone",
        "sssp": "column distance is double, and was int64", "arcs": "column weight is double, and was int64",
    }  # fmt: skip
    assert not list(published.path.glob("*_changes"))
    (folder / "named.csv").write_text("src,dst\nana,bob\n")
    named = run(
        run_config("test", graph={"source": str(folder / "named.csv")}, output=tmp_path / "o", stages=["wcc"], backend="cpu")
    )
    from pipeline.comparison.versions import of_run

    reasons = tabulate_changes(tmp_path / "d", of_run(second), of_run(named)).facts["not_compared"]
    assert reasons["wcc"] == reasons["vertices"] == "the ids of only one of the sources are strings"


def test_more_sources_are_added_rows(nights):
    folder, _ = nights
    graph = {"source": str(folder / "roads.csv")}
    asked = {"output": folder / "more", "stages": ["bfs"], "publish_as": "latest", "backend": "cpu", "changes": {"tables": True}}
    run(run_config("test", graph=graph, sources=[1, 3], **asked))
    published = run(run_config("test", graph=graph, sources=[2, 3], **asked))
    changed = RunFacts.of(published).changes.tables["bfs"]
    assert (changed.added, changed.removed, changed.changed) == (6, 6, 0)


@pytest.mark.parametrize("named", [False, True])
def test_ids_that_are_strings_are_the_keys(tmp_path, named):
    """With the new person abe, all others have other numbers; eve is a pair that neither graph knows."""
    pq.write_table(pa.table({"src": ["ana", "eve"], "dst": ["cem", "ana"]}), tmp_path / "pairs.parquet")
    queries = {"pairs": str(tmp_path / "pairs.parquet"), "unknown": "null", "witness": True}
    asked = {"output": tmp_path / "out", "stages": ["sssp", "wcc", "reachability"], "sources": ["ana"], "backend": "cpu"}
    for lines in ("ana,bob,2\nbob,cem,1\ncem,dora,1\n", "ana,bob,2\nbob,cem,5\nabe,cem,1\nana,abe,1\n"):
        (tmp_path / "people.csv").write_text(f"src,dst,weight\n{lines}")
        graph = {"source": str(tmp_path / "people.csv")}
        published = run(run_config("test", graph=graph, changes={"tables": True}, queries=queries, named=named, **asked))
    assert not RunFacts.of(published).changes.not_compared
    rows = {row["vertex"]: row for row in tables.read(published.path / "sssp_changes").to_pylist()}
    assert {name: row["kind"] for name, row in rows.items()} == {"abe": "added", "cem": "changed", "dora": "removed"}
    assert rows["cem"] == {
        "source": "ana", "vertex": "cem", "old_distance": 3, "new_distance": 2, "old_predecessor": "bob",
        "new_predecessor": "abe", "kind": "changed",
    }  # fmt: skip
    assert tables.read(published.path / "paths_changes").to_pylist() == [
        {"query": 0, "old_src": "ana", "new_src": "ana", "old_dst": "cem", "new_dst": "cem", "old_length": 2, "new_length": 2,
         "old_path": ["ana", "bob", "cem"], "new_path": ["ana", "abe", "cem"], "kind": "changed"},
    ]  # fmt: skip
    assert find_run(tmp_path / "out").path == published.path
    vertices = tables.read(published.path / "vertices_changes")
    assert vertices.schema.names[0] == "vertex" and "old_id" not in vertices.schema.names
    units = {column["name"]: column["unit"] for column in published.facts["tables"]["sssp_changes"]["columns"]}
    assert units["vertex"] == units["old_predecessor"] == "the vertex in the source, whose ids are strings"


def test_rows_out_of_order_are_not_skipped(tmp_path, monkeypatch):
    for name in ("ROWS_PER_GROUP", "ROWS_PER_FILE"):
        monkeypatch.setattr(tables, name, 2)
    orders = [1, 2, 3, 4, 5, 6], [5, 6, 3, 4, 1, 2]
    frames = [pa.table({"vertex": order, "labels": order}).cast(tables.schema("wcc", None)) for order in orders]
    old, new = (version(tmp_path / str(n), "wcc", frame, 3) for n, frame in enumerate(frames))
    with pytest.raises(Damaged, match="of 6 rows are in the order of the table's keys"):
        difference.compare("wcc", old, new)
