"""Weights with decimals: every distance is the exact sum of what the user wrote, on every way through the tables."""

import heapq
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import graphmill
from pipeline.changes import change
from pipeline.cli.init.look import look
from pipeline.cluster import open_graphs
from pipeline.cluster.threads import LocalThreads
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.config.loading import run_config
from pipeline.config.products import ProductOptions
from pipeline.config.products.closeness import ClosenessConfig
from pipeline.config.products.isochrones import IsochronesConfig
from pipeline.config.products.matrix import MatrixOptions
from pipeline.config.products.nearest import NearestConfig
from pipeline.config.run import RunConfig
from pipeline.config.stages import BetweennessConfig, MaxFlowConfig
from pipeline.errors import Damaged, ProofFailed
from pipeline.ingest import ingest
from pipeline.inspection.check import check
from pipeline.report.wording import read_as
from pipeline.run import run
from pipeline.steps.layout import lay_out
from pipeline.steps.products import sweeping
from pipeline.steps.products.closeness import tabulate_closeness
from pipeline.steps.products.isochrones import tabulate_isochrones, tabulate_reached
from pipeline.steps.products.matrix import tabulate_matrix
from pipeline.steps.products.nearest import tabulate_nearest
from pipeline.steps.products.trees import tabulate_trees
from pipeline.steps.runtime import Runtime
from pipeline.steps.stages import run_stage
from pipeline.steps.verify import prove
from pipeline.store import counting
from pipeline.store.counting import counted_graph
from pipeline.store.facts import CountedFacts, GraphFacts
from pipeline.store.graph import open_graph
from pipeline.store.manifest import Folder, make
from pipeline.tables import files as tables
from tests.pipeline.changes.histories import differing

SIDE = 6
PLACES = 2


def written(seed: int = 1) -> list[tuple[int, int, str]]:
    """One-way streets of a grid, with weights as texts: many equal sums, which floats would not find equal."""
    random, rows = np.random.default_rng(seed), []
    for vertex in range(SIDE * SIDE):
        for other in (vertex + 1 if vertex % SIDE < SIDE - 1 else -1, vertex + SIDE):
            for src, dst in ((vertex, other), (other, vertex)):
                if 0 <= other < SIDE * SIDE and random.random() < 0.8:
                    rows.append((src, dst, f"{random.choice(['0.1', '0.2', '0.30', '1.4', '0.05', '7', '12.75'])}"))
    return rows


def distances(rows: list[tuple[int, int, str]], source: int) -> dict[int, Fraction]:
    """Dijkstra's algorithm with exact sums of the texts."""
    out: dict[int, list[tuple[int, Fraction]]] = {}
    for src, dst, weight in rows:
        out.setdefault(src, []).append((dst, Fraction(weight)))
    found, waiting = dict[int, Fraction](), [(Fraction(0), source)]
    while waiting:
        length, vertex = heapq.heappop(waiting)
        if vertex not in found:
            found[vertex] = length
            for head, weight in out.get(vertex, []):
                heapq.heappush(waiting, (length + weight, head))
    return found


ROWS = written()
VERTICES = sorted({end for src, dst, _ in ROWS for end in (src, dst)})
EXACT = {source: distances(ROWS, source) for source in VERTICES}


def predecessor(source: int, vertex: int) -> int:
    """The smallest id from which an arc of exactly the missing length leads here."""
    known = EXACT[source]
    tight = [row for row in ROWS if row[1] == vertex and row[0] in known and known[row[0]] + Fraction(row[2]) == known[vertex]]
    return min(src for src, _, _ in tight)


def laid_out(work, rows=ROWS, **columns) -> tuple[Folder, Folder]:
    work.mkdir(exist_ok=True, parents=True)
    (work / "g.csv").write_text("src,dst,weight\n" + "".join(f"{src},{dst},{weight}\n" for src, dst, weight in rows))
    edges = ingest(GraphConfig(source=str(work / "g.csv"), directed=True), work)
    return edges, lay_out(edges, LayoutConfig(**columns), Runtime(work))


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    return laid_out(tmp_path_factory.mktemp("decimals"))


def shown(source: int, vertex: int) -> float | None:
    length = EXACT[source].get(vertex)
    return None if length is None else float(length)


def test_the_manifest_states_the_unit(steps):
    assert GraphFacts.of(steps[1]).counted == CountedFacts(decimals=PLACES, largest=1275)
    assert GraphFacts.of(steps[1]).weight == "double"


def test_shortest_paths_are_those_of_exact_sums(steps, tmp_path):
    _, graph = steps
    answer = run_stage(graph, "sssp", VERTICES[:5], Runtime(tmp_path))
    rows = tables.read(answer.path).to_pylist()
    assert [(row["source"], row["vertex"]) for row in rows] == [(one, other) for one in VERTICES[:5] for other in VERTICES]
    for row in rows:
        assert row["distance"] == shown(row["source"], row["vertex"])
        if row["distance"] and row["source"] != row["vertex"]:
            assert row["predecessor"] == predecessor(row["source"], row["vertex"])
    assert prove(graph, answer, True, Runtime(tmp_path)).facts["holds"]


@pytest.mark.parametrize("worth", [1, 1000], ids=["swept", "searched"])
def test_products_have_exact_sums(steps, tmp_path, monkeypatch, worth):
    monkeypatch.setattr(sweeping, "WORTH", worth)
    (edges, graph), runtime = steps, Runtime(tmp_path)
    for row in tables.read(tabulate_closeness(edges, graph, ClosenessConfig(), runtime).path).to_pylist():
        known = EXACT[row["vertex"]].values()
        assert (row["reached"], row["total"], row["eccentricity"]) == (len(known), float(sum(known)), float(max(known)))
    for options in ({}, {"cutoff": 0.3}, {"proof": "sample"}):
        asked = MatrixOptions(output=tmp_path / f"matrix{len(options)}{options.get('proof')}", **options)
        matrix = tables.read(tabulate_matrix(graph, [None, np.array(VERTICES[::3])], asked, runtime).path).to_pylist()
        pairs = [(source, target, shown(source, target)) for source in VERTICES for target in VERTICES[::3]]
        if "cutoff" in options:
            pairs = [pair for pair in pairs if EXACT[pair[0]].get(pair[1], 99) <= Fraction("0.3")]
        assert [(row["source"], row["target"], row["distance"]) for row in matrix] == pairs
    near = [float(one) for one in ("0.3", "1.15", "8")]
    asked = IsochronesConfig(thresholds=near)
    for row in tables.read(tabulate_isochrones(edges, graph, asked, runtime).path).to_pylist():
        within = Fraction(str(row["threshold"]))
        assert row["vertices"] == sum(length <= within for length in EXACT[row["source"]].values())
    reached = tables.read(tabulate_reached(edges, graph, asked, runtime).path).to_pylist()
    assert {(row["source"], row["vertex"]): row["distance"] for row in reached} == {
        (source, vertex): float(length) for source in VERTICES for vertex, length in EXACT[source].items() if length <= 8
    }
    (tmp_path / "few.csv").write_text("3\n8\n20\n")
    few = NearestConfig(facilities=str(tmp_path / "few.csv"), count=2)
    for row in tables.read(tabulate_nearest(edges, graph, few, runtime).path).to_pylist():
        known = sorted((EXACT[row["vertex"]][one], one) for one in (3, 8, 20) if one in EXACT[row["vertex"]])
        expected = known[row["rank"] - 1] if row["rank"] <= len(known) else (None, None)
        assert (row["facility"], row["distance"]) == (expected[1], None if expected[0] is None else float(expected[0]))
    made = tabulate_trees(graph, [np.array(VERTICES[:5])], ProductOptions(output=tmp_path / "trees"), runtime)
    assert made.manifest.files == run_stage(graph, "sssp", VERTICES[:5], Runtime(tmp_path / "stage")).manifest.files


def test_all_ways_to_a_graph_give_the_same_tables(steps, tmp_path):
    """Text and Parquet, shards, and several ranks; maximum flows and forests have the weights that were written."""
    pq.write_table(pa.table({"src": [3, 0], "dst": [30, 21]}), tmp_path / "pairs.parquet")
    columns = {"src": [src for src, _, _ in ROWS], "dst": [dst for _, dst, _ in ROWS], "weight": [float(w) for *_, w in ROWS]}
    pq.write_table(pa.table(columns), tmp_path / "g.parquet")
    edges = ingest(GraphConfig(source=str(tmp_path / "g.parquet"), directed=True), tmp_path)
    parquet = lay_out(edges, LayoutConfig(), Runtime(tmp_path))
    graphs = {"one": steps[1], "parquet": parquet, "cut": laid_out(tmp_path / "cut", shards=3)[1]}
    made: dict[str, list[Folder]] = {}
    for name, graph in graphs.items():
        for ranks in (0, 3) if name == "one" else (0,):
            runtime = Runtime(tmp_path / f"{name}-{ranks}", cluster=LocalThreads(ranks))
            options = {"betweenness": BetweennessConfig(), "max_flow": MaxFlowConfig(pairs=str(tmp_path / "pairs.parquet"))}
            for stage in ["sssp", "mst", "betweenness", *([] if ranks else ["max_flow"])]:
                answer = run_stage(graph, stage, VERTICES[:3] if stage == "sssp" else [], runtime, options.get(stage))
                assert prove(graph, answer, not ranks, runtime).facts["holds"]
                made.setdefault(stage, []).append(answer)
    for stage, answers in made.items():
        assert len({str(answer.manifest.files) for answer in answers}) == 1, stage
    allowed = {float(weight) for *_, weight in ROWS}
    forest = tables.read(made["mst"][0].path)["weight"].to_pylist()
    assert forest and set(forest) <= allowed
    for flow in tables.read(made["max_flow"][0].path).to_pylist():
        cut = [Fraction(w) for src, dst, w in ROWS if (src, dst) in set(zip(flow["cut_src"], flow["cut_dst"], strict=True))]
        assert flow["flow"] == float(sum(cut))


def test_a_distance_that_is_off_by_its_last_bit_is_not_proved(steps, tmp_path):
    graph, answer = steps[1], run_stage(steps[1], "sssp", [0], Runtime(tmp_path))
    true = tables.read(answer.path)
    column = true.schema.get_field_index("distance")
    values = true["distance"].to_pylist()
    row = next(row for row, value in enumerate(values) if value and value % 1)
    values[row] = float(np.nextafter(values[row], 1e9))
    wrong = true.set_column(column, true.schema.field(column), pa.array(values))

    def write(folder):
        tables.write(folder, "sssp", "double", wrong.to_batches())
        return answer.facts

    forged = make(tmp_path / "forged", "sssp", {"graph": graph.digest}, {}, write)
    with pytest.raises(ProofFailed, match=r"^sssp: distance: \d+\.\d+ is not a multiple of 10\^-2"):
        prove(graph, forged, False, Runtime(tmp_path))


def test_a_stored_weight_that_is_no_unit_is_damage(steps):
    folder, facts = steps[1], GraphFacts.of(steps[1])
    wrong = facts.model_copy(update={"counted": CountedFacts(decimals=1, largest=128)})
    forged = Folder(folder.path, replace(folder.manifest, facts=wrong.stored()))
    with pytest.raises(Damaged, match=r"the weight .* is not a multiple of 10\^-1"):
        counted_graph(forged, open_graph(folder))


@pytest.mark.parametrize("symmetric", [False, True])
def test_weights_that_do_not_fit_into_memory_are_counted_into_a_file(symmetric, tmp_path, monkeypatch):
    folder = laid_out(tmp_path, symmetrise=symmetric)[1]
    expected = counted_graph(folder, open_graph(folder))
    monkeypatch.setattr(counting, "leave_enough", lambda *_: False)
    monkeypatch.setattr(counting, "_PIECE", 2)
    found = counted_graph(folder, open_graph(folder))
    assert found.symmetric == symmetric
    for here, there in ((found.out, expected.out), (found.into, expected.into)):
        assert not here.weights.flags.writeable and here.weights.dtype == there.weights.dtype
        np.testing.assert_array_equal(here.weights, there.weights)


@pytest.mark.parametrize(
    ("weights", "counted"),
    [
        (["0.1", "2"], (1, 20)),
        (["3.0", "2"], (0, 3)),
        (["0.125", "1e2"], (3, 100_000)),
        (["0.1", "1.4142135623730951"], None),
        (["1e14", "0.5"], (1, 10**15)),
        (["1e15", "0.5"], None),  # on both arcs: more than 2^51 units
    ],
)
def test_what_is_counted(weights, counted, tmp_path):
    _, graph = laid_out(tmp_path, [(1 + place, 2 + place, weight) for place, weight in enumerate(weights)])
    fact = GraphFacts.of(graph).counted
    assert (fact and (fact.decimals, fact.largest)) == counted
    answer = run_stage(graph, "sssp", [1], Runtime(tmp_path))
    assert tables.read(answer.path)["distance"].to_pylist() == [0, *np.cumsum([*map(float, weights)]).tolist()]
    assert prove(graph, answer, False, Runtime(tmp_path)).facts["holds"]


def test_users_are_shown_what_is_counted(tmp_path):
    """By the manifest and the report of a run, by `check`, and by `init` from the first rows."""
    rounded = "not counted in units, so sums are rounded"
    for weights, total, said, first in (
        (("0.1", "0.2"), 0.3, "counted in units of 0.1, so sums are exact", "1 decimal in the first rows, counted in units"),
        (("0.1", "1.4142135623730951"), 0.1 + 2**0.5, rounded, rounded),
    ):
        laid_out(tmp_path, [(1, 2, weights[0]), (2, 3, weights[1])])
        graph = {"source": str(tmp_path / "g.csv"), "directed": True}
        config = RunConfig.model_validate({"graph": graph, "output": tmp_path / "out", "stages": ["mst"], "backend": "cpu"})
        assert read_as(check(config).input)["Weights"] == f"double, column 'weight'; {said}"
        published = run(config)
        assert said in (published.path / "report.html").read_text()
        assert published.facts["figures"]["mst: total weight"] == total
        assert first in look(GraphConfig(source=str(tmp_path / "g.csv"))).sums


def test_integers_and_singles_are_as_before(tmp_path):
    for kind in (pa.int64(), pa.float32()):
        pq.write_table(pa.table({"src": [1, 2], "dst": [2, 3], "weight": pa.array([1, 2], kind)}), tmp_path / "g.parquet")
        edges = ingest(GraphConfig(source=str(tmp_path / "g.parquet")), tmp_path)
        assert GraphFacts.of(lay_out(edges, LayoutConfig(), Runtime(tmp_path))).counted is None


def test_programs_of_users_get_the_weights_of_the_source(tmp_path):
    laid_out(tmp_path)
    opened = graphmill.open(str(tmp_path / "g.csv"), directed=True).graph
    assert opened.out.weights.dtype == np.float64 and not opened.out.weights.flags.writeable
    assert sorted(opened.out.weights.tolist()) == sorted(float(weight) for *_, weight in ROWS)


def test_table_arcs_has_the_weights_of_the_source(tmp_path):
    laid_out(tmp_path)
    graph = {"source": str(tmp_path / "g.csv"), "directed": True}
    published = run(run_config("test", graph=graph, output=tmp_path / "out", stages=["sssp"], arcs=True, backend="cpu"))
    rows = tables.read(published.path / "arcs")
    assert sorted(rows["weight"].to_pylist()) == sorted(float(weight) for *_, weight in ROWS)


def test_changes_count_in_the_unit_of_what_they_leave(tmp_path):
    """Finer weights, weights with too many decimals, and back: the tables are those of a run over the changed source."""
    rows = {(src, dst): weight for src, dst, weight in ROWS}
    files = [[("update", pair, weight)] for pair, weight in zip(rows, ("0.125", "1.4142135623730951", "0.1"), strict=False)]
    (second, _), *_ = list(rows.items())[1:]
    files.append([("delete", second, "")])

    def config(name):
        text = "".join(f"{src},{dst},{weight}\n" for (src, dst), weight in rows.items())
        (tmp_path / f"{name}.csv").write_text(f"src,dst,weight\n{text}")
        graph = {"source": str(tmp_path / f"{name}.csv"), "directed": True, "name": "g"}
        options = {"graph": graph, "output": tmp_path / name, "stages": ["sssp", "mst"], "sources": [0, 7]}
        return RunConfig.model_validate(options | {"backend": "cpu", "keep": 1})

    run(config("out"))
    units = []
    for number, listed in enumerate(files):
        lines = [f"{op},{src},{dst},{weight}\n" for op, (src, dst), weight in listed]
        (tmp_path / "c.csv").write_text("op,src,dst,weight\n" + "".join(lines))
        for op, pair, weight in listed:
            if op == "delete":
                del rows[pair]
            else:
                rows[pair] = weight
        changed = change(tmp_path / "out", str(tmp_path / "c.csv"))
        again = run(config(f"again{number}"))
        assert differing(changed.path, again.path) == []
        units.append(changed.facts["graph"].get("counted"))
        assert units[-1] == again.facts["graph"].get("counted")
    assert [unit and unit["decimals"] for unit in units] == [3, None, None, 3]
    assert all(one != other for one, other in pairwise(units[:2]))


def test_weights_are_converted_once_in_a_process(steps, tmp_path, monkeypatch):
    """For all stages and proofs on threads; another graph takes the place of the first one."""
    converted: list[str] = []

    def recorded(folder, graph):
        converted.append(folder.digest)
        return counted_graph(folder, graph)

    monkeypatch.setattr(open_graphs, "counted_graph", recorded)
    graph, other = steps[1], laid_out(tmp_path / "other", shards=2)[1]
    runtime = Runtime(tmp_path / "run")
    for stage in ("sssp", "mst", "betweenness"):
        prove(graph, run_stage(graph, stage, [], runtime), False, runtime)
    assert converted == [graph.digest]
    run_stage(other, "sssp", [], replace(runtime, work=tmp_path / "other"))
    assert converted == [graph.digest, other.digest]
