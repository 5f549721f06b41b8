"""Isochrones of paths that lead to the sources, sums that decay, and two-step floating catchment areas, against NetworkX."""

import math

import pyarrow.parquet as pq
import pytest

from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.config.loading import run_config
from pipeline.config.products.isochrones import IsochronesConfig
from pipeline.errors import BadConfig, ProofFailed
from pipeline.ingest import ingest
from pipeline.run import run
from pipeline.steps.layout import lay_out
from pipeline.steps.products import sweeping
from pipeline.steps.products.isochrones import access, polygons, sums, tabulate_isochrones, tabulate_reached
from pipeline.steps.products.isochrones.access import tabulate_access
from pipeline.steps.runtime import Runtime
from pipeline.store.facts.products import ProductFacts
from pipeline.store.facts.run import RunFacts
from tests.pipeline.products.conftest import FACILITIES, SIDE, write_network
from tests.pipeline.products.test_products import DISTANCES, steps_of
from tests.reports import Page

GRAVITY = {"decay": "gravity", "alpha": 1.5, "least": 2.0}
DECAYS = [{}, {"decay": "exponential", "beta": 0.3}, GRAVITY]


def factor(asked, distance):
    """The factor of a distance."""
    if asked.get("decay") == "exponential":
        return math.exp(-asked["beta"] * distance)
    return max(distance, asked["least"]) ** -asked["alpha"] if asked else 1.0


def people(vertex):
    return vertex % 5 if vertex < SIDE**2 else 0


def jobs(vertex):
    return vertex / 10 if vertex < SIDE**2 and vertex != 3 else 0


def towards(source):
    """The distances of the vertices that reach a source."""
    return {vertex: DISTANCES[vertex][source] for vertex in DISTANCES if source in DISTANCES[vertex]}


@pytest.fixture
def some(published, tmp_path):
    """A step's table on the run's graph, from some sources."""
    (tmp_path / "from.csv").write_text("".join(f"{vertex}\n" for vertex in FACILITIES))

    def tabulate(step, **asked):
        config = IsochronesConfig(**{"thresholds": [4, 7], "sources": str(tmp_path / "from.csv"), **asked})
        return step(*steps_of(published), config, Runtime(tmp_path))

    return tabulate


def rows_of(folder):
    return [tuple(row.values()) for row in pq.read_table(folder.path).to_pylist()]


@pytest.mark.parametrize("worth", [1, 1000], ids=["swept", "searched"])
def test_isochrones_of_paths_to_the_sources(some, monkeypatch, worth):
    """How many people reach each of them, on one-way streets."""
    monkeypatch.setattr(sweeping, "WORTH", worth)
    found = rows_of(some(tabulate_isochrones, direction="to", sums=["people"]))
    near = {(source, most): [v for v, d in towards(source).items() if d <= most] for source in FACILITIES for most in (4, 7)}
    assert found == [(*key, len(of), sum(map(people, of))) for key, of in sorted(near.items())]
    assert found != rows_of(some(tabulate_isochrones, sums=["people"]))
    reached = rows_of(some(tabulate_reached, direction="to"))
    assert reached == sorted((s, v, d) for s in FACILITIES for v, d in towards(s).items() if d <= 7)
    areas = [rows_of(some(polygons.tabulate_polygons, direction=way)) for way in ("from", "to")]
    assert areas[0] != areas[1]


@pytest.mark.parametrize("asked", DECAYS[1:], ids=["exponential", "gravity"])
def test_sums_that_decay(some, asked):
    made = some(tabulate_isochrones, sums=["people", "jobs"], **asked)
    expected = []
    for source in FACILITIES:
        for threshold in (4, 7):
            near = {vertex: factor(asked, d) for vertex, d in DISTANCES[source].items() if d <= threshold}
            totals = [math.fsum(of(vertex) * share for vertex, share in near.items()) for of in (people, jobs)]
            expected.append((source, threshold, len(near), *(pytest.approx(total, rel=1e-13) for total in totals)))
    assert rows_of(made) == expected
    assert ProductFacts.of(made).proof.rules[-1] == sums.RULE


@pytest.mark.parametrize("asked", DECAYS, ids=["cumulative", "exponential", "gravity"])
@pytest.mark.parametrize("sources", [FACILITIES, None], ids=["some", "all"])
def test_two_step_floating_catchment_areas(some, monkeypatch, asked, sources):
    """As PySAL's `access` has them; the island demands nothing."""
    monkeypatch.setattr(sweeping.Sweeps, "summing_tasks", lambda sweeps, *_: sweeps.tasks(-(-sweeps.count // 3)))
    monkeypatch.setattr(sweeping, "WORTH", 1 if sources is None else 1000)
    monkeypatch.setattr("kernels.trees._MOST", 2)  # trees of a batch that are searched
    asked = {**asked, "direction": "to", "supply": "jobs", "demand": "people"}
    asked |= {} if sources else {"sources": None}
    ratios = {}
    for source in sources or DISTANCES:
        for most in (4, 7):
            demand = [people(v) * factor(decay_in(asked), d) for v, d in towards(source).items() if d <= most]
            ratios[source, most] = jobs(source) / math.fsum(demand) if any(demand) else None
    found = rows_of(some(tabulate_isochrones, **asked))
    assert {row[:2]: row[3] for row in found} == {key: ratio and pytest.approx(ratio, rel=1e-13) for key, ratio in ratios.items()}
    made = some(tabulate_access, **asked)
    for vertex, most, offered in rows_of(made):
        near = [(s, d) for s, d in DISTANCES[vertex].items() if (s, most) in ratios and d <= most]
        due = math.fsum((ratios[s, most] or 0) * factor(decay_in(asked), d) for s, d in near)
        assert offered == pytest.approx(due, rel=1e-13, abs=1e-15)
    assert [row[:2] for row in rows_of(made)] == [(vertex, most) for vertex in sorted(DISTANCES) for most in (4, 7)]
    assert ProductFacts.of(made).proof.rules[-1] == access.RULE


def decay_in(asked):
    return {key: asked[key] for key in ("decay", "beta", "alpha", "least") if key in asked}


def test_a_run_publishes_them_with_their_units(tmp_path):
    graph = write_network(tmp_path)
    table = {"thresholds": [4], "sources": str(tmp_path / "facilities.csv"), "sums": ["people"], "supply": "jobs"}
    asked = {**table, "demand": "people", "direction": "to", "decay": "exponential", "beta": 0.5}
    made = run(
        run_config("test", graph=graph.model_dump(), output=tmp_path / "out", stages=["wcc"], isochrones=asked, backend="cpu")
    )
    tables = RunFacts.of(made).tables
    units = {name: {column["name"]: column["unit"] for column in tables[name].columns} for name in tables}
    decayed = ", each times exp(-0.5 t) at distance t"
    assert units["isochrones"]["people"] == f"sum over the vertices within the threshold{decayed}"
    assert units["isochrones"]["supply_ratio"] == f"jobs for each of people within the threshold{decayed}"
    assert units["isochrone_access"]["access"] == "jobs for each of people"
    page = Page((made.path / "report.html").read_text()).text
    assert "Access to what sources supply" in page


@pytest.mark.parametrize("step", ["ratios", "access"])
def test_wrong_sums_are_refused(some, monkeypatch, step):
    """The kernels of both steps."""
    wrong = sums.decayed if step == "ratios" else access.Access.floats

    def doubled(*arguments):
        made = wrong(*arguments)
        return (made[0], 2 * made[1]) if step == "ratios" else 2 * made

    monkeypatch.setattr(*((sums, "decayed") if step == "ratios" else (access.Access, "floats")), doubled)
    words = (
        "people: a sum within 4 is .*, recounted" if step == "ratios" else "within 4, access times demand is .* and the supply is"
    )
    with pytest.raises(ProofFailed, match=words):
        some(tabulate_access, supply="jobs", demand="people", direction="to")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"decay": "exponential"}, "decay exponential needs beta"),
        ({"decay": "gravity", "alpha": 1.0}, "decay gravity needs least"),
        ({"decay": "gravity"}, "decay gravity needs alpha and least"),
        ({"supply": "jobs"}, "supply and demand need each other"),
        ({"sums": ["jobs"], "beta": 1.0}, "beta: has no effect: the decay is cumulative; set decay = "),
        ({"decay": "exponential", "beta": 1.0}, "decay: has no effect: no column is summed"),
        ({"buffer": 20.0}, "buffer: has no effect: no areas are drawn; set polygons = true"),
    ],
)
def test_wrong_keys(tmp_path, asked, words):
    from pipeline.config.effects import require_effect

    (tmp_path / "g.csv").write_text("src,dst\n1,2\n")
    with pytest.raises(BadConfig, match=words):
        table = {"thresholds": [1], **asked}
        require_effect("test", run_config("test", graph={"source": str(tmp_path / "g.csv")}, output=tmp_path, isochrones=table))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"supply": "beds", "demand": "people"}, "isochrones.supply: 'beds': the table of nodes has the columns people, jobs"),
        ({"supply": "jobs", "demand": "name"}, "isochrones.demand: 'name': the table of nodes has"),
        ({**GRAVITY, "alpha": 50.0, "least": 1e-50, "sums": ["jobs"]}, r"isochrones.least: 1e-50\^-50.0 exceeds the largest"),
    ],
)
def test_wrong_columns(some, asked, words):
    with pytest.raises(BadConfig, match=words):
        some(tabulate_isochrones, **asked)


def test_a_negative_demand_is_refused(tmp_path):
    (tmp_path / "edges.csv").write_text("src,dst\n1,2\n")
    (tmp_path / "nodes.csv").write_text("vertex,beds,people\n1,3,-2\n2,1,4\n")
    names = {"source": str(tmp_path / "edges.csv"), "nodes": str(tmp_path / "nodes.csv")}
    edges = ingest(GraphConfig(**names), tmp_path)
    graph, asked = lay_out(edges, LayoutConfig(), Runtime(tmp_path)), {"thresholds": (1,), "supply": "beds", "demand": "people"}
    with pytest.raises(BadConfig, match=r"isochrones.demand: column 'people' has -2, which must not be negative"):
        tabulate_access(edges, graph, IsochronesConfig(**asked), Runtime(tmp_path))


def test_amounts_that_differ_a_lot_pass_the_proof(tmp_path):
    """What is cut off the small ones is allowed for."""
    (tmp_path / "edges.csv").write_text("src,dst\n1,2\n2,3\n3,4\n")
    (tmp_path / "nodes.csv").write_text("vertex,beds,people\n1,1e9,1e-9\n2,1,7e8\n3,0.25,1e-7\n4,3,0\n")
    names = {"source": str(tmp_path / "edges.csv"), "nodes": str(tmp_path / "nodes.csv"), "directed": True}
    edges = ingest(GraphConfig(**names), tmp_path)
    graph, asked = lay_out(edges, LayoutConfig(), Runtime(tmp_path)), {"thresholds": (0, 1), "supply": "beds", "demand": "people"}
    made = tabulate_access(edges, graph, IsochronesConfig(**asked), Runtime(tmp_path))
    found = {row[:2]: row[2] for row in rows_of(made)}
    assert found[1, 0] == pytest.approx(1e18, rel=1e-14)
    assert found[4, 0] == 0  # nobody asks for its supply
    assert found[3, 1] == pytest.approx(0.25 / 1e-7 + 1 / (7e8 + 1e-7), rel=1e-14)
