"""Runs over sources with parallel rows: rules, orders, capacities, and what a run says of them."""

import logging
from datetime import datetime
from fractions import Fraction

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.changes import change
from pipeline.changes.state import _up_to_date
from pipeline.cli.options import RunOptions
from pipeline.config.effects import require_effect
from pipeline.config.loading import run_config
from pipeline.errors import BadConfig, BadInput, ProofFailed
from pipeline.inspection.check import check
from pipeline.inspection.estimate import estimate
from pipeline.report.wording import read_as
from pipeline.run import run
from pipeline.steps.parallel import merging
from pipeline.store.facts.run import RunFacts
from pipeline.tables import files as tables
from tests.pipeline.reach.inputs import write_pairs

ROWS = "src,dst,weight,time\n1,2,5,2\n1,2,3,10\n2,1,7,9\n1,1,4,1\n1,3,6,3\n2,3,1,4\n1,2,5,2\n"
EVERY_RULE = ["lightest", "heaviest", "sum", "count", "first", "last"]


def config(tmp_path, text: str = ROWS, stages=("wcc",), name="rows.csv", graph=None, **options):
    tmp_path.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    graph = {"source": str(tmp_path / name), **(graph or {})}
    return run_config("test", graph=graph, output=tmp_path / "out", stages=stages, backend="cpu", **options)


def arcs_of(published) -> dict[tuple[int, int], float]:
    return {(row["src"], row["dst"]): row.get("weight", 1) for row in tables.read(published.path / "arcs").to_pylist()}


def facts_of(published):
    return RunFacts.of(published)


def drawn_rows(seed: int, directed: bool, weighted: bool) -> list[tuple]:
    random = np.random.default_rng(seed)
    rows = [tuple(row) for row in random.integers(0, 9, (60, 2)).tolist()]
    return [(*row, weight) if weighted else row for row, weight in zip(rows, random.integers(1, 9, 60).tolist(), strict=True)]


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_capacities_are_sums_and_distances_are_of_the_lightest(directed, weighted, tmp_path):
    rows = drawn_rows(3, directed, weighted)
    text = "\n".join(["src,dst,weight" if weighted else "src,dst", *(",".join(map(str, row)) for row in rows)]) + "\n"
    ends = [(src, dst) for src in range(5) for dst in range(5) if src != dst]
    pairs = write_pairs(tmp_path / "pairs.parquet", *map(list, zip(*ends, strict=True)))
    asked = {"stages": ["sssp", "max_flow"], "max_flow": {"pairs": pairs}, "sources": [0], "oracle": True}
    published = run(config(tmp_path, text, graph={"directed": directed}, **asked))
    several, lightest = (nx.MultiDiGraph() if directed else nx.MultiGraph()), nx.DiGraph() if directed else nx.Graph()
    for src, dst, *weight in rows:
        several.add_edge(src, dst, capacity=weight[0] if weight else 1)
    summed = nx.DiGraph() if directed else nx.Graph()
    for src, dst, capacity in several.edges(data="capacity"):
        known = summed.get_edge_data(src, dst, {"capacity": 0})["capacity"]
        summed.add_edge(src, dst, capacity=known + capacity)
        least = lightest.get_edge_data(src, dst, {"weight": capacity})["weight"]
        lightest.add_edge(src, dst, weight=min(least, capacity))
    flows = tables.read(published.path / "max_flow")["flow"].to_pylist()
    assert flows == [nx.maximum_flow_value(summed, *pair) for pair in ends]
    distances = tables.read(published.path / "sssp").to_pylist()
    expected = nx.single_source_dijkstra_path_length(lightest, 0)
    assert {row["vertex"]: row["distance"] for row in distances if row["distance"] is not None} == expected
    facts = facts_of(published)
    assert (facts.input.merged, facts.input.parallel) == (None, None)
    assert facts.input.capacities.rule == "sum"
    assert facts.input.capacities.rows == sum(src != dst for src, dst, *_ in rows)
    assert facts.proofs["max_flow"].oracle
    assert {"merged", "capacities"} & {*facts.steps} == {"capacities"}
    assert "Capacities" in (published.path / "report.html").read_text("utf-8")
    for rule, graph in (("lightest", lightest), ("sum", summed)):
        published = run(config(tmp_path, text, graph={"directed": directed, "parallel": rule}, **asked))
        assert facts_of(published).input.capacities is None
        name = "weight" if rule == "lightest" else "capacity"
        expected = [nx.maximum_flow_value(graph, *pair, capacity=name) for pair in ends]
        assert tables.read(published.path / "max_flow")["flow"].to_pylist() == expected


def test_an_edge_with_a_row_in_each_direction_may_be_one_or_two(tmp_path, caplog):
    text = "src,dst,weight\n1,2,5\n2,1,5\n2,3,4\n3,2,7\n"
    asked = {"stages": ["max_flow"], "max_flow": {"pairs": write_pairs(tmp_path / "pairs.parquet", [1], [3])}}
    for look in (run, check):
        with pytest.raises(BadInput, match=r'one edge\? for stage max_flow, set parallel = "sum" .* or parallel = "lightest"'):
            look(config(tmp_path, text, graph={"directed": False}, **asked))
    for rule, flow in (("lightest", 4), ("sum", 10)):
        caplog.clear()
        published = run(config(tmp_path, text, graph={"directed": False, "parallel": rule}, **asked))
        assert tables.read(published.path / "max_flow")["flow"].to_pylist() == [flow]
        assert ("it counts twice (graph.parallel)" in caplog.text) is (rule == "sum")
    published = run(config(tmp_path, text, **asked))  # directed: two arcs
    assert facts_of(published).input.capacities is None


def test_answers_need_a_proof_over_their_own_graph(tmp_path, monkeypatch):
    asked = {"stages": ["max_flow"], "max_flow": {"pairs": write_pairs(tmp_path / "pairs.parquet", [1], [3])}}
    real = merging.merged

    def faulty(rows, rule, both):
        edges = real(rows, rule, both)
        edges.weights[0] += 1
        return edges

    monkeypatch.setattr(merging, "merged", faulty)
    with pytest.raises(ProofFailed, match="merged: the merged edge from 1 to 1 has another weight"):
        run(config(tmp_path, **asked))
    assert not (tmp_path / "out" / "latest").exists()


def test_what_a_run_says_of_a_rule(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    said = {
        "sum": "merged; an edge weighs the sum of its rows; 6 rows became 4 edges, 1 of up to 3 rows",
        "count": "merged; an edge weighs the number of its rows; 6 rows became 4 edges, 1 of up to 3 rows",
        "heaviest": "merged; the heaviest of each pair stays; 6 rows became 4 edges, 1 of up to 3 rows",
        "last": "merged; the last of each pair by column 'time' stays; 6 rows became 4 edges, 1 of up to 3 rows",
    }
    for rule, sentence in said.items():
        graph = {"parallel": rule} | ({"columns": {"order": "time"}} if rule == "last" else {})
        found = config(tmp_path, graph=graph)
        published = run(found)
        read = facts_of(published).input
        assert (read.parallel, read.self_loops, read.parallel_arcs, read.merged.rule) == (rule, 1, 2, rule)
        assert read_as(read)["Parallel arcs"] == f"2, {sentence}"
        assert read_as(check(found).input)["Parallel arcs"] == f"2, {sentence}"
        assert sentence in caplog.text
        page = (published.path / "report.html").read_text("utf-8")
        assert "Parallel arcs merged" in page
        assert sentence.replace("'", "&#39;") in page
    found = read_as(facts_of(run(config(tmp_path, graph={"parallel": "count"}))).input)
    assert found["Weights"] == "int64, the number of rows of each edge"


def test_an_estimate_has_the_merging(tmp_path):
    for rule, steps in (("sum", 1), ("lightest", 0), ("keep", 0)):
        assert len({"merged"} & {*estimate(config(tmp_path, graph={"parallel": rule})).seconds}) == steps


def test_another_rule_does_not_read_the_source_again(tmp_path):
    steps = [facts_of(run(config(tmp_path, graph={"parallel": rule}))).steps for rule in ("sum", "count", "sum")]
    assert [of["edges"].reused for of in steps] == [False, True, True]


class TestTheOrderOfRows:
    @pytest.mark.parametrize(
        "times",
        [
            ["9", "10", "-3", "1.5", "1e1", "8"],
            ["1700000000000000001", "1700000000000000002", "0", "1700000000000000001.5", "5", "3"],
            ["2026-01-09", "2026-01-10T00:00:01", "1970-01-01", "2026-01-09 23:00", "2025-12-31", "2026-01-01"],
            ["2026-01-01T01:00:00+02:00", "2026-01-01T00:30:00Z", "2025-12-31T23:00:00Z", "2025-12-01T00:00:00-01:00"] * 2,
            ["b", "ba", "a", "aa", "Z", "ä"],
        ],
    )
    @pytest.mark.parametrize("rule", ["first", "last"])
    def test_of_texts(self, times, rule, tmp_path):
        times = times[:6]
        if times[0].startswith("20"):
            keys = [datetime.fromisoformat(time) for time in times]
        else:
            keys = times if times[0] == "b" else [Fraction(time) for time in times]
        rows = [f"1,2,{number},{time}" for number, time in enumerate(times)]
        graph = {"parallel": rule, "columns": {"order": "time"}}
        found = arcs_of(run(config(tmp_path, "src,dst,weight,time\n" + "\n".join(rows) + "\n", graph=graph)))
        chosen = min if rule == "first" else max
        place = chosen(range(6), key=lambda number: (keys[number], number))
        assert found == {(1, 2): place}

    @pytest.mark.parametrize(
        ("times", "line", "reason"),
        [
            (["2", "2026-01-01"], 3, "order '2026-01-01' is not a number of up to 10 decimals, as the column begins"),
            (["2026-01-01", "7"], 3, "order '7' is not a date or time such as 2026-11-01"),
            (["2026-01-01", "2026-01-01T00:00:00Z"], 3, "order '2026-01-01T00:00:00Z' is not a date or time such as 2026-11-01"),
            (["2026-01-01T00:00:00Z", "2026-01-01"], 3, "order '2026-01-01' is not a time with a zone"),
            (["a", "7"], 3, "order '7' is a number, or a date in another form than 2026-11-01"),
            (["31.12.2026", "01.01.2027"], 2, "order '31.12.2026' is a number, or a date in another form"),
            (["12/31/2026", "01/01/2027"], 2, "order '12/31/2026' is a number, or a date in another form"),
            (["5", ""], 3, "order '' is absent"),
            (["", "5"], 2, "order '' is absent"),
            (["1.00000000001", "5"], 2, "order '1.00000000001'"),
        ],
    )
    def test_values_of_two_kinds_are_refused(self, times, line, reason, tmp_path):
        text = "src,dst,time\n" + "".join(f"1,2,{time}\n" for time in times)
        with pytest.raises(BadInput) as refused:
            run(config(tmp_path, text, graph={"parallel": "last", "columns": {"order": "time"}}))
        assert f"rows.csv: line {line}: {reason}" in str(refused.value)
        assert "graph.columns.order" in str(refused.value)

    def test_of_parquet_and_its_refusals(self, tmp_path):
        columns = {"src": ["a", "b", "a"], "dst": ["b", "a", "b"], "weight": [1.5, 2.5, 3.5]}
        graph = {"source": str(tmp_path / "g.parquet"), "parallel": "first", "columns": {"order": "at"}, "directed": False}

        def asked(at):
            pq.write_table(pa.table(columns | {"at": at}), tmp_path / "g.parquet")
            return run_config("test", graph=graph, output=tmp_path / "out", stages=["wcc"], backend="cpu")

        days = pa.array([30, 10, 20], pa.int32()).cast(pa.date32())
        assert set(arcs_of(run(asked(days))).values()) == {2.5}
        assert set(arcs_of(run(asked(pa.array(["b", "c", "a"]).dictionary_encode()))).values()) == {3.5}
        for at, reason in (
            (pa.array([1, None, 2]), "row 1: at is null"),
            (pa.array([1.0, 2.0, float("nan")]), "row 2: at is not a number"),
            (pa.array([True, False, True]), "column 'at' is bool, not numbers, dates, times or texts"),
        ):
            with pytest.raises(BadInput, match=reason):
                run(asked(at))

    def test_of_snap_of_oneway_rows_and_of_several_files(self, tmp_path):
        snap = config(
            tmp_path / "snap", "1 2 30\n2 3 5\n1 2 4\n", name="g.txt", graph={"columns": {"order": "3"}, "parallel": "first"},
        )  # fmt: skip
        assert facts_of(run(snap)).input.merged is None  # without weights no row is another
        konect = config(
            tmp_path / "konect", "% sym weighted\n1 2 7 30\n2 3 1 5\n2 1 8 4\n", name="out.g",
            graph={"columns": {"order": "4"}, "parallel": "first"},
        )  # fmt: skip
        assert arcs_of(run(konect))[1, 2] == 8
        oneway = "src,dst,weight,back,at\n1,2,5,6,9\n2,1,7,8,1\n"
        graph = {"columns": {"order": "at", "reverse_weight": "back"}, "parallel": "last"}
        assert arcs_of(run(config(tmp_path / "oneway", oneway, graph=graph))) == {(1, 2): 5, (2, 1): 6}
        parts = tmp_path / "parts"
        parts.mkdir()
        for name, at in (("a.csv", 2), ("b.csv", 1)):
            (parts / name).write_text(f"dst,src,weight,at\n2,1,{at}0,{at}\n")
        for order, weight in (({}, 10), ({"columns": {"order": "at"}}, 20)):
            feed = {"source": str(parts), "parallel": "last", **order}
            assert arcs_of(run(run_config("test", graph=feed, output=tmp_path / "out", stages=["wcc"]))) == {(1, 2): weight}
        (parts / "c.csv").write_text("src,dst,weight,at\n1,2,5,2026-01-01\n")
        with pytest.raises(BadInput, match=r"c\.csv: its column of order \('at'\) is timestamp\[ns\], in .*a\.csv decimal128"):
            run(run_config("test", graph=feed, output=tmp_path / "out", stages=["wcc"]))

    def test_declared_vertices_have_none(self, tmp_path):
        nodes = tmp_path / "nodes.csv"
        nodes.write_text("vertex\n1\n9\n")
        graph = {"parallel": "last", "columns": {"order": "time"}, "nodes": str(nodes), "node_columns": {"declare": True}}
        published = run(config(tmp_path, graph=graph))
        assert tables.read(published.path / "vertices")["vertex"].to_pylist() == [1, 2, 3, 9]
        assert facts_of(published).input.self_loops == 1
        assert arcs_of(published)[1, 2] == 3


class TestChanges:
    """A change of a graph is that of its merged edges: the graph of a source in which the pair has one row."""

    CHANGES = "op,src,dst,weight\ninsert,3,1,9\ndelete,1,2,\nupdate,2,3,4\n"
    CHANGED = "src,dst,weight,time\n2,1,7,9\n1,1,4,1\n1,3,6,3\n2,3,4,4\n3,1,9,1\n"

    @pytest.mark.parametrize("rule", EVERY_RULE)
    def test_changes_equal_a_rebuild(self, rule, tmp_path):
        changed, rebuilt = self.CHANGES, self.CHANGED
        if rule == "count":  # an edge of weight 4 has four rows
            rebuilt = "src,dst,weight,time\n2,1,7,9\n1,3,6,3\n" + "2,3,4,4\n" * 4 + "3,1,9,1\n" * 9
        run(config(tmp_path, graph={"parallel": rule}))
        (tmp_path / "changes.csv").write_text(changed)
        expected = arcs_of(run(config(tmp_path / "rebuilt", rebuilt, graph={"parallel": rule})))
        assert arcs_of(change(tmp_path / "out", tmp_path / "changes.csv")) == expected

    @pytest.mark.parametrize("rule", EVERY_RULE)
    def test_a_snapshot_is_merged_by_the_rule(self, rule, tmp_path):
        graph = {"parallel": rule} | ({"columns": {"order": "time"}} if rule in ("first", "last") else {})
        run(config(tmp_path, graph=graph))
        text = ROWS + "3,1,2,5\n3,1,8,4\n1,2,90,0\n"
        (tmp_path / "next.csv").write_text(text)
        expected = arcs_of(run(config(tmp_path / "rebuilt", text, graph=graph)))
        assert arcs_of(change(tmp_path / "out", tmp_path / "next.csv", snapshot=True)) == expected

    def test_what_is_refused(self, tmp_path):
        (tmp_path / "changes.csv").write_text("op,src,dst,weight\ninsert,3,1,0\n")
        run(config(tmp_path, graph={"parallel": "count"}))
        with pytest.raises(BadInput, match=r"line 2: insert 3 -> 1: the weight of an edge is the number of its rows"):
            change(tmp_path / "out", tmp_path / "changes.csv")
        run(config(tmp_path, "src,dst\n1,2\n1,2\n2,3\n", graph={"parallel": "sum"}, publish_as="latest"))
        with pytest.raises(BadInput, match=r"line 2: insert 3 -> 1: the weight of an edge is the number of its rows"):
            change(tmp_path / "out", tmp_path / "changes.csv")
        run(config(tmp_path, graph={"parallel": "keep"}, publish_as="latest"))
        with pytest.raises(BadConfig, match="keeps parallel arcs, so a change could mean several edges"):
            change(tmp_path / "out", tmp_path / "changes.csv")
        asked = {"stages": ["max_flow"], "max_flow": {"pairs": write_pairs(tmp_path / "pairs.parquet", [1], [3])}}
        run(config(tmp_path, publish_as="latest", **asked))
        with pytest.raises(BadConfig, match=r"stage max_flow adds the capacities of parallel arcs.*; state graph\.parallel"):
            change(tmp_path / "out", tmp_path / "changes.csv")


def test_the_keys(tmp_path):
    with pytest.raises(BadConfig, match=r"layout: parallel_arcs is `parallel` below \[graph\]; move it there"):
        config(tmp_path, layout={"parallel_arcs": "keep"})
    with pytest.raises(BadConfig, match=r"graph\.columns\.order: has no effect: no rule needs it"):
        RunOptions(out=tmp_path, parallel="sum", order_by="time").config(str(tmp_path / "rows.csv"))
    for key, graph in (
        ("weight.unit", {"weight": {"unit": "m"}}),
        ("columns.speed", {"columns": {"speed": "time", "weight": "m"}}),
    ):
        with pytest.raises(BadConfig, match=rf"graph\.{key}: has no effect: an edge weighs the number of its rows"):
            require_effect("test", config(tmp_path, graph={"parallel": "count", **graph}))
    options = RunOptions(out=tmp_path, parallel="last", order_by="time").config(str(tmp_path / "rows.csv"))
    assert (options.graph.parallel, options.graph.columns.order) == ("last", "time")
    with pytest.raises(BadConfig, match=r"must be different columns; 'weight' is given twice"):
        config(tmp_path, graph={"columns": {"order": "weight"}, "parallel": "last"})
    with pytest.raises(BadInput, match=r"graph\.columns is given, but does not apply to format dimacs"):
        run(config(tmp_path, "p sp 2 1\na 1 2 3\n", name="g.gr", graph={"columns": {"order": "at"}, "parallel": "last"}))
    before = {"layout": {"parallel_arcs": "keep", "order": "source"}, "graph": {"source": "g.csv"}, "stages": ["wcc"]}
    assert _up_to_date(before) == {
        "layout": {"order": "source"},
        "graph": {"source": "g.csv", "parallel": "keep"},
        "stages": ["wcc"],
    }
