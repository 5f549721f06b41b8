"""Columns that say in which directions a row is open: the arcs are those of a plain reader, the distances those of NetworkX."""

import csv
import random

import networkx
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.config.graph import GraphConfig
from pipeline.config.loading import checked
from pipeline.config.run import RunConfig
from pipeline.errors import BadConfig, BadInput
from pipeline.ingest import ingest
from pipeline.run import run
from pipeline.store.facts import EdgeFacts
from tests.edge_lists import rows_of_edges

FORWARD, REVERSE, BOTH = "forward", "reverse", "both"
# What programs write, and what it means: OpenStreetMap, OSMnx, osm2pgrouting (text, then number), pgRouting, HERE, pandas.
WRITTEN = {
    "yes": FORWARD, "true": FORWARD, "1": FORWARD, "-1": REVERSE, "reverse": REVERSE, "no": BOTH, "false": BOTH, "0": BOTH,
    "True": FORWARD, "False": BOTH, "YES": FORWARD, "NO": BOTH, "UNKNOWN": BOTH, "REVERSED": REVERSE, "2": BOTH,
    "FT": FORWARD, "TF": REVERSE, "B": BOTH, "ft": FORWARD, "tf": REVERSE, "": BOTH, "F": FORWARD, "T": REVERSE,
    "1.0": FORWARD, "-1.0": REVERSE, "0.0": BOTH,
}  # fmt: skip
UNKNOWN = ("reversible", "alternating", "t", "f", "N", "Y", "3", "-2", "[True, False]", "F T", "yes;no", "\uff59es")


def arcs(rows, with_reverse=False):
    """The arcs of rows `src, dst, weight, oneway, reverse_weight`, read as the documentation says."""
    found = []
    for src, dst, weight, oneway, back in rows:
        direction = WRITTEN[oneway]
        if direction != REVERSE and not (with_reverse and weight < 0):
            found.append((src, dst, weight))
        if direction != FORWARD and not (with_reverse and (back is None or back < 0)):
            found.append((dst, src, back if with_reverse else weight))
    return found


def rows_at_random(seed, signed):
    draw = random.Random(seed)
    weights = [*range(-3 if signed else 1, 9)]
    for _ in range(draw.choice([1, 40, 200])):
        src, dst = draw.sample(range(30), 2)
        yield src, dst, draw.choice(weights), draw.choice([*WRITTEN]), draw.choice([None, *weights])


def written(path, rows):
    """Write rows as the suffix says."""
    names = ["src", "dst", "cost", "oneway", "reverse_cost"]
    if path.suffix == ".parquet":
        pq.write_table(pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))), path, row_group_size=17)
    else:
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([names, *rows])


@pytest.mark.parametrize("with_reverse", [False, True])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("seed", range(4))
def test_the_arcs_are_those_of_a_plain_reader(seed, suffix, with_reverse, tmp_path):
    rows = [*rows_at_random(seed, with_reverse)]
    written(tmp_path / f"g.{suffix}", rows)
    columns = {"weight": "cost", "oneway": "oneway"} | ({"reverse_weight": "reverse_cost"} if with_reverse else {})
    edges = ingest(GraphConfig(source=str(tmp_path / f"g.{suffix}"), columns=columns), tmp_path / "work")
    found = rows_of_edges(edges).to_pydict()
    expected = arcs(rows, with_reverse)
    assert [*zip(*found.values(), strict=True)] == expected
    facts = EdgeFacts.of(edges)
    assert facts.directed
    assert facts.directed_by == "file"
    counts = facts.directions
    assert counts.forward + counts.reverse + counts.both + counts.closed == len(rows)
    assert counts.forward + counts.reverse + 2 * counts.both == len(expected)


@pytest.mark.parametrize("value", WRITTEN)
def test_a_value_means_the_same_in_parquet(value, tmp_path):
    typed = {"1": 1, "-1": -1, "0": 0, "2": 2, "True": True, "False": False, "1.0": 1.0, "-1.0": -1.0, "0.0": 0.0, "": None}
    pq.write_table(pa.table({"src": [5], "dst": [7], "oneway": [typed.get(value, value)]}), tmp_path / "g.parquet")
    edges = ingest(GraphConfig(source=str(tmp_path / "g.parquet"), columns={"oneway": "oneway"}), tmp_path / "work")
    found = {FORWARD: [(5, 7)], REVERSE: [(7, 5)], BOTH: [(5, 7), (7, 5)]}[WRITTEN[value]]
    assert [*zip(*rows_of_edges(edges).to_pydict().values(), strict=True)] == found


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("value", UNKNOWN)
def test_a_value_without_one_meaning_is_refused(value, suffix, tmp_path):
    written(tmp_path / f"g.{suffix}", [(1, 2, 1, "yes", 1), (2, 3, 1, value, 1)])
    config = GraphConfig(source=str(tmp_path / f"g.{suffix}"), columns={"weight": "cost", "oneway": "oneway"})
    with pytest.raises(BadInput, match=r"(line 3|row 1): oneway '.*; \[graph.oneway\] states what it means"):
        ingest(config, tmp_path / "work")
    states = GraphConfig.model_validate(config.model_dump() | {"oneway": {"closed": [value]}})
    edges = ingest(states, tmp_path / "work")
    assert rows_of_edges(edges).to_pydict() == {"src": [1], "dst": [2], "weight": [1]}
    assert EdgeFacts.of(edges).directions.closed == 1


def test_a_stated_meaning_goes_before_the_usual_one(tmp_path):
    (tmp_path / "g.csv").write_text("src,dst,way\n1,2,N\n2,3,\n3,4,T\n")  # T as New York's streets: both directions
    stated = {"columns": {"oneway": "way"}, "oneway": {"both": ["T"], "closed": ["N", ""]}}
    edges = ingest(GraphConfig(source=str(tmp_path / "g.csv"), **stated), tmp_path / "work")
    assert rows_of_edges(edges).to_pydict() == {"src": [3, 4], "dst": [4, 3]}


def test_decimals_strings_and_empty_weights_of_the_reverse(tmp_path):
    pd.DataFrame({"a": ["x", "y"], "b": ["y", "z"], "cost": [1.5, -1], "back": [None, 2.25]}).to_csv(tmp_path / "g.csv")
    columns = {"src": "a", "dst": "b", "weight": "cost", "reverse_weight": "back"}
    edges = ingest(GraphConfig(source=str(tmp_path / "g.csv"), columns=columns), tmp_path / "work")
    assert rows_of_edges(edges).to_pydict() == {"src": [0, 2], "dst": [1, 1], "weight": [1.5, 2.25]}


# rows, keys, what the message has
REFUSED = {
    "empty weight": ("1,2,,x,3\n", {"reverse_weight": "reverse_cost"}, "line 2: weight '' is not a number"),
    "negative weight alone": ("1,2,-1,no,3\n", {}, "line 2: weight '-1' is not in 0.."),
    "text": ("1,2,1,no,x\n", {"reverse_weight": "reverse_cost"}, "line 2: reverse_weight 'x' is not a number"),
    "no weights": ("1,2,1,no,1\n", {"reverse_weight": "reverse_cost", "weight": None}, "no column of weights"),
    "no such column": ("1,2,1,no,1\n", {"oneway": "one_way"}, "no column 'one_way'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_has_no_direction_is_refused(case, tmp_path):
    rows, columns, reason = REFUSED[case]
    (tmp_path / "g.csv").write_text(f"src,dst,cost,oneway,reverse_cost\n{rows}")
    with pytest.raises(BadInput) as caught:
        ingest(GraphConfig(source=str(tmp_path / "g.csv"), columns={"weight": "cost"} | columns), tmp_path / "work")
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    "keys",
    [
        {"directed": False, "columns": {"oneway": "oneway"}},
        {"columns": {"reverse_weight": "back", "weight": False}},
        {"columns": {"oneway": "src"}},
        {"oneway": {"both": ["N"], "closed": ["N"]}},
    ],
)
def test_keys_that_contradict_each_other_are_refused(keys):
    with pytest.raises(BadConfig):
        checked(GraphConfig, "test", source="g.csv", **keys)


def test_distances_are_those_of_networkx(tmp_path):
    """A network as osm2pgrouting writes it: closed directions have a negative cost."""
    draw, lines, expected = random.Random(7), ["source,target,cost,reverse_cost,one_way"], networkx.DiGraph()
    for src in range(60):
        for dst in draw.sample(range(60), 3):
            cost, way = draw.randint(1, 50), draw.choice([0, 1, 2, -1])
            there, back = cost if way != -1 else -cost, cost if way != 1 else -cost
            lines.append(f"{src},{dst},{there},{back},{way}")
            for tail, head, weight in ((src, dst, there), (dst, src, back)):
                if weight >= 0 and tail != head:
                    expected.add_edge(tail, head, weight=min(weight, expected.get_edge_data(tail, head, {}).get("weight", 99)))
    (tmp_path / "ways.csv").write_text("\n".join(lines) + "\n")
    columns = {"src": "source", "dst": "target", "weight": "cost", "reverse_weight": "reverse_cost", "oneway": "one_way"}
    graph = {"source": str(tmp_path / "ways.csv"), "columns": columns}
    config = checked(RunConfig, "test", graph=graph, output=tmp_path / "out", stages=["sssp", "wcc"], sources=[0], backend="cpu")
    published = run(config)
    table = pq.read_table(published.path / "sssp").to_pydict()
    assert dict(zip(table["vertex"], table["distance"], strict=True)) == networkx.single_source_dijkstra_path_length(expected, 0)
    counts = published.facts["input"]["directions"]
    assert counts["forward"] + counts["reverse"] + counts["both"] == 180 - counts["closed"]
    assert "in reverse only" in (published.path / "report.html").read_text()


@pytest.mark.parametrize(("values", "said"), [("TFF", True), ("TFB", False), ("FFF", False)])
def test_letters_that_may_be_true_and_false_are_named(values, said, tmp_path, caplog):
    (tmp_path / "g.csv").write_text("src,dst,way\n" + "".join(f"{row},9,{value}\n" for row, value in enumerate(values)))
    ingest(GraphConfig(source=str(tmp_path / "g.csv"), columns={"oneway": "way"}), tmp_path / "work")
    assert ("no row is open in both directions" in caplog.text) == said
