"""Flows with weights, and their lines, against NetworkX's paths."""

import json
from fractions import Fraction
from itertools import pairwise
from struct import unpack

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.config.loading import run_config
from pipeline.errors import BadConfig, BadInput
from pipeline.run import run
from pipeline.steps.products import flows, sweeping
from pipeline.store import manifest
from pipeline.store.facts.run import RunFacts
from tests.reports import Page

VERTICES = 40


@pytest.fixture(scope="module")
def network():
    """A network whose shortest paths are unique, with a vertex that no path leaves and none enters."""
    random = np.random.default_rng(6)
    found = nx.gnm_random_graph(VERTICES, 130, seed=2, directed=True)
    for src, dst in found.edges:
        found[src][dst]["weight"] = int(random.integers(1, 2**40))
    found.add_edge(90, 91, weight=1)
    return found


def trips_of(kind):
    """Pairs, some of them twice, one not connected, and their weights."""
    random = np.random.default_rng(1)
    pairs = [*map(tuple, random.integers(0, VERTICES, (200, 2)).tolist()), (0, 91), (3, 3), (1, 2), (1, 2)]
    weights = (
        random.integers(0, 1000, len(pairs)).tolist()
        if kind == "integers"
        else (10 ** random.uniform(-9, 9, len(pairs))).tolist()
    )
    return pairs, weights


def published(folder, network, trips, **asked):
    arcs = [(src, dst, data["weight"]) for src, dst, data in network.edges(data=True)]
    pq.write_table(
        pa.table(dict(zip(("src", "dst", "weight"), map(list, zip(*arcs, strict=True)), strict=True))), folder / "e.parquet"
    )
    pairs, weights = trips
    columns = {"src": [s for s, _ in pairs], "dst": [d for _, d in pairs], "trips": weights, "note": ["x"] * len(pairs)}
    pq.write_table(pa.table(columns), folder / "trips.parquet")
    xy = "".join(f"{v},{179.895 + v / 100 - 360 * (v > 10)},{v / 7}\n" for v in range(VERTICES) if v != 5)
    (folder / "xy.csv").write_text("vertex,x,y\n" + xy)
    graph = {"source": str(folder / "e.parquet"), "directed": True, "coordinates": str(folder / "xy.csv")}
    table = {"pairs": str(folder / "trips.parquet"), **asked}
    return run(run_config("test", graph=graph, output=folder / "out", stages=["wcc"], flows=table, backend="cpu"))


def expected(network, trips):
    """The sum of the weights over each arc, and of what has no path."""
    sums, lost = {}, Fraction(0)
    for (src, dst), weight in zip(*trips, strict=True):
        try:
            path = nx.dijkstra_path(network, src, dst)
        except nx.NetworkXNoPath:
            lost += Fraction(weight)
            continue
        for arc in pairwise(path):
            sums[arc] = sums.get(arc, 0) + Fraction(weight)
    return {arc: total for arc, total in sums.items() if total}, lost


@pytest.mark.parametrize("kind", ["integers", "floats"])
def test_the_flow_of_an_arc_is_the_sum_of_the_weights(tmp_path, monkeypatch, network, kind):
    monkeypatch.setattr(flows, "_ENTRIES", 3 * VERTICES)
    monkeypatch.setattr(sweeping, "WORTH", 1 if kind == "integers" else 1000)
    monkeypatch.setattr("kernels.trees._MOST", 7)  # trees of a batch that are searched
    trips = trips_of(kind)
    made = published(tmp_path, network, trips, weight="trips")
    sums, lost = expected(network, trips)
    rows = {(row["src"], row["dst"]): row["flow"] for row in pq.read_table(made.path / "flows").to_pylist()}
    kind_of_sum = int if kind == "integers" else float
    assert rows == {arc: kind_of_sum(total) for arc, total in sums.items()}
    assert {type(flow) for flow in rows.values()} == {kind_of_sum}
    facts = manifest.read(made.path.parents[1] / "steps" / "flows").facts
    assert (facts["weight"], facts["unconnected"]) == (kind_of_sum(sum(map(Fraction, trips[1]))), kind_of_sum(lost))
    described = {column["name"]: column for column in RunFacts.of(made).tables["flows"].columns}
    assert described["flow"]["unit"] == "trips"
    page = Page((made.path / "report.html").read_text()).text
    assert "Arcs with most trips" in page and "trips have no path" in page


def test_without_weights_each_path_counts_one(tmp_path, network):
    pairs, _ = trips_of("integers")
    made = published(tmp_path, network, (pairs, [2.5] * len(pairs)))
    sums, lost = expected(network, (pairs, [1] * len(pairs)))
    table = pq.read_table(made.path / "flows")
    assert {(row["src"], row["dst"]): row["flow"] for row in table.to_pylist()} == sums
    assert table.schema.names == ["src", "dst", "flow"] and table.schema.metadata is None
    assert manifest.read(made.path.parents[1] / "steps" / "flows").facts["unconnected"] == lost


def test_lines_of_arcs(tmp_path, network):
    table = pq.read_table(published(tmp_path, network, trips_of("integers"), lines=True).path / "flows")
    (column,) = json.loads(table.schema.metadata[b"geo"])["columns"].values()
    assert column == {"encoding": "WKB", "geometry_types": ["LineString", "MultiLineString"]}

    def place(vertex):
        return (179.895 + vertex / 100 - 360 * (vertex > 10), vertex / 7)

    cut = 0
    for row in table.to_pylist():
        line, ends = row["geometry"], (row["src"], row["dst"])
        if 5 in ends or max(ends) >= VERTICES:
            assert line is None
        elif (ends[0] > 10) == (ends[1] > 10):
            assert unpack("<BII4d", line) == pytest.approx((1, 2, 2, *place(ends[0]), *place(ends[1])))
        else:
            cut += 1
            _, kind, parts = unpack("<BII", line[:9])
            before, after = unpack("<BII4d", line[9:50]), unpack("<BII4d", line[50:])
            assert (kind, parts) == (5, 2)
            assert before[3:5] == pytest.approx(place(ends[0])) and after[5:7] == pytest.approx(place(ends[1]))
            assert {before[5], after[3]} == {180.0, -180.0} and before[6] == after[4]
    assert cut > 5


@pytest.mark.parametrize(
    ("weights", "asked", "error", "words"),
    [
        ([1, -2], {"weight": "trips"}, BadInput, r"row 1: trips -2 is not in 0\.\.9223372036854775807"),
        ([1.0, float("nan")], {"weight": "trips"}, BadInput, "row 1: trips nan is not in 0 or more, and finite"),
        ([1, None], {"weight": "trips"}, BadInput, "row 1: trips is null"),
        ([2**62, 2**62], {"weight": "trips"}, BadInput, "the sum of the weights exceeds 9223372036854775807"),
        ([1e308, 1e308], {"weight": "trips"}, BadInput, "the sum of the weights exceeds 1.797"),
        (["a", "b"], {"weight": "trips"}, BadInput, "column 'trips' is string; a weight must be an integer, float or double"),
        (
            [1, 2],
            {"weight": "tripps"},
            BadInput,
            r"no column 'tripps' of weights.*'trips', 'note'.*did you mean 'trips'.*flows.weight",
        ),
        ([1, 2], {"weight": "dst"}, BadInput, "no column 'dst' of weights"),
        ([1, 2], {"weight": "trips", "pairs": None}, BadConfig, "flows.weight: has no effect"),
    ],
)
def test_wrong_weights_are_refused_before_the_stages(tmp_path, network, weights, asked, error, words):
    from pipeline.config.effects import require_effect

    with pytest.raises(error, match=words):
        if "pairs" in asked:
            content = {"graph": {"source": "g.csv"}, "output": tmp_path, "flows": asked}
            require_effect("test", run_config("test", **content))
        published(tmp_path, network, ([(0, 1), (1, 2)], weights), **asked)
    assert not (tmp_path / "out" / "steps" / "wcc").exists()


def test_lines_need_coordinates(tmp_path):
    (tmp_path / "g.csv").write_text("src,dst\n1,2\n")
    with pytest.raises(BadConfig, match=r"flows\.lines: the graph has no coordinates; name them by `coordinates`"):
        run(
            run_config(
                "test", graph={"source": str(tmp_path / "g.csv")}, output=tmp_path / "out", flows={"lines": True}, backend="cpu"
            )
        )
