"""Tables by zones against pandas, on the rows of the tables `matrix` and `nearest`."""

import networkx as nx
import numpy as np
import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.cli.command import app
from pipeline.config.loading import run_config
from pipeline.config.products.matrix import MatrixOptions
from pipeline.config.products.nearest import NearestConfig
from pipeline.errors import BadConfig, BadInput, TooLarge
from pipeline.inspection.products import trees_of
from pipeline.run import run
from pipeline.steps.products import sweeping
from pipeline.steps.products.zones import matrix, nearest
from pipeline.steps.runtime import Runtime
from pipeline.store.facts.run import RunFacts
from tests.pipeline.products.calls import matrix_into
from tests.pipeline.products.conftest import FACILITIES, network
from tests.reports import Page

ZONES = {"text": ["west", "east", "nörth"], "integers": [30, -1, 7], "truth": [True, False, True]}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Where commands keep the graphs that they read."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def nodes_of(kind):
    """Zones and people of the crossings; two of them have no zone, one no people, and one no row."""
    random = np.random.default_rng(8)
    vertices = [vertex for vertex in sorted(network()) if vertex != 11]
    zones = [None if vertex in (5, 60) else ZONES[kind][vertex % 3] for vertex in vertices]
    people = [None if vertex == 20 else float(random.integers(0, 900)) / 7 for vertex in vertices]
    return pa.table({"vertex": vertices, "zone": zones, "people": people})


@pytest.fixture(params=["integers", "floats"])
def weights(request):
    return request.param


@pytest.fixture
def graph(tmp_path, weights):
    """A function that writes a graph's TOML file whose zones have a type, and returns its path."""

    def write(kind="text"):
        unit = 1 if weights == "integers" else 7
        arcs = [
            (src, dst, data["weight"] / unit if unit > 1 else data["weight"]) for src, dst, data in network().edges(data=True)
        ]
        columns = dict(zip(("src", "dst", "weight"), map(list, zip(*arcs, strict=True)), strict=True))
        pq.write_table(pa.table(columns), tmp_path / "e.parquet")
        pq.write_table(nodes_of(kind), tmp_path / "nodes.parquet")
        text = 'source = "e.parquet"\nnodes = "nodes.parquet"\ndirected = true\nweight = { name = "time", unit = "minutes" }\n'
        (tmp_path / "graph.toml").write_text(text)
        return str(tmp_path / "graph.toml")

    return write


def by_zones(pairs, keys, counted):
    """What pandas says of the groups of rows with a distance or none, and the product of two weights."""
    pairs["weight"] = pairs["weight"].fillna(0).where(pairs["distance"].notna())
    pairs["product"] = pairs["distance"] * pairs["weight"]
    groups = pairs.groupby(keys, dropna=False)
    result = pandas.DataFrame({counted: groups.size(), "unreached": groups["distance"].apply(lambda of: int(of.isna().sum()))})
    result["min"], result["mean"] = groups["distance"].min(), groups["distance"].mean()
    result["weighted_mean"] = groups["product"].sum() / groups["weight"].sum().replace(0, np.nan)
    rows = result.reset_index().astype(object).where(lambda of: of.notna(), None).values.tolist()
    return sorted(
        rows, key=lambda row: [(value is None, value or 0) if not isinstance(value, str) else (False, value) for value in row[:2]]
    )


def same(found, expected):
    assert [row[:-3] for row in found] == [row[:-3] for row in expected]
    for row, due in zip(found, expected, strict=True):
        assert row[-3:] == [None if value is None else pytest.approx(value, rel=1e-15) for value in due[-3:]]


def rows_of(folder):
    return [[*row.values()] for row in pq.read_table(folder).to_pylist()]


@pytest.mark.parametrize("kind", ZONES)
@pytest.mark.parametrize("few", [True, False], ids=["some", "all"])
def test_a_matrix_by_zones(tmp_path, monkeypatch, graph, kind, few):
    monkeypatch.setattr(matrix, "_PER_TASK", 7)
    monkeypatch.setattr(sweeping, "WORTH", 1)
    (tmp_path / "from.csv").write_text("".join(f"{vertex}\n" for vertex in range(20)))
    asked = {"sources": str(tmp_path / "from.csv"), "cutoff": 4 if few else None, "backend": "cpu"} if few else {"backend": "cpu"}
    target = graph(kind)
    matrix_into(target, tmp_path / "plain", **{**asked, "cutoff": None})
    made = matrix_into(target, tmp_path / "zones", **asked, zone="zone", zone_weight="people")
    far = matrix_into(target, tmp_path / "far", **{**asked, "cutoff": 1e30}, zone="zone")
    assert far.manifest.files == matrix_into(target, tmp_path / "near", **{**asked, "cutoff": None}, zone="zone").manifest.files
    pairs, nodes = pandas.read_parquet(tmp_path / "plain"), nodes_of(kind).to_pandas()
    for end in ("source", "target"):
        pairs = pairs.merge(nodes.rename(columns={"vertex": end, "zone": f"{end}_zone", "people": f"{end}_people"}), how="left")
    pairs["weight"] = pairs["source_people"].fillna(0) * pairs["target_people"].fillna(0)
    pairs["distance"] = pairs["distance"].where(pairs["distance"] <= 4) if few else pairs["distance"]
    same(rows_of(tmp_path / "zones"), by_zones(pairs, ["source_zone", "target_zone"], "pairs"))
    table = pq.read_table(tmp_path / "zones")
    assert table.schema.field("source_zone").type == pq.read_schema(tmp_path / "nodes.parquet").field("zone").type
    assert made.facts["rows"] == len(table) and made.manifest.step == "matrix_zones"
    assert matrix_into(target, tmp_path / "zones", **asked, zone="zone", zone_weight="people").reused
    monkeypatch.setattr(matrix, "_PER_TASK", 1000)
    again = matrix_into(target, tmp_path / "again", **asked, zone="zone", zone_weight="people", proof="sample")
    assert again.manifest.files == made.manifest.files


def test_the_command_has_both_columns(tmp_path, graph, capsys):
    target = graph()
    command = ["matrix", target, "--zone", "zone", "--out", str(tmp_path / "m"), "--backend", "cpu"]
    app(command, result_action="return_value", exit_on_error=False)
    assert "16 rows from 51 sources; every tree proved" in capsys.readouterr().out
    table = pq.read_table(tmp_path / "m")
    assert table.schema.names == ["source_zone", "target_zone", "pairs", "unreached", "min", "mean"]
    assert b'"mean": "minutes (time)"' in table.schema.metadata[b"units"]
    with pytest.raises(BadConfig, match="zone_weight needs zone"):
        matrix_into(target, tmp_path / "other", zone_weight="people")
    with pytest.raises(BadConfig, match="was not written by this command"):
        matrix_into(target, tmp_path / "m", backend="cpu")


def test_the_nearest_facilities_by_zones(tmp_path, graph):
    target = graph()
    (tmp_path / "f.csv").write_text("".join(f"{vertex}\n" for vertex in FACILITIES))
    content = {"graph": {"source": str(tmp_path / "e.parquet"), "nodes": str(tmp_path / "nodes.parquet"), "directed": True}}
    asked = {"facilities": str(tmp_path / "f.csv"), "count": 7, "zone": "zone", "zone_weight": "people"}
    made = run(run_config("test", **content, output=tmp_path / "out", stages=["wcc"], nearest=asked, backend="cpu"))
    near = pandas.read_parquet(made.path / "nearest").merge(nodes_of("text").to_pandas(), how="left")
    near["weight"] = near["people"].fillna(0)
    same(rows_of(made.path / "nearest_zones"), by_zones(near, ["zone", "rank"], "vertices"))
    facts = RunFacts.of(made)
    assert facts.proofs["nearest_zones"].holds
    page = Page((made.path / "report.html").read_text()).text
    assert "Nearest facilities by zones" in page and "means are weighted by people" in page
    assert target


def test_distances_are_those_of_networkx(tmp_path, graph, weights):
    """Not only those of another table."""
    matrix_into(graph(), tmp_path / "m", zone="zone", backend="cpu")
    unit = 1 if weights == "integers" else 7
    zones = dict(zip(*(nodes_of("text")[name].to_pylist() for name in ("vertex", "zone")), strict=True))
    lengths = dict(nx.all_pairs_dijkstra_path_length(network()))
    found = {tuple(row[:2]): row[2:] for row in rows_of(tmp_path / "m")}
    inside = [lengths[s][t] / unit for s in lengths for t in lengths[s] if zones.get(s) == "west" and zones.get(t) == "east"]
    pairs, unreached, least, mean = found["west", "east"]
    assert pairs - unreached == len(inside) and least == pytest.approx(min(inside)) and mean == pytest.approx(np.mean(inside))


def test_an_estimate_counts_the_trees_of_the_nearest_facilities_once(tmp_path):
    (tmp_path / "f.csv").write_text("1\n2\n")
    asked = {"facilities": str(tmp_path / "f.csv"), "zone": "zone"}
    config = run_config("test", graph={"source": "g.csv"}, output=tmp_path, nearest=asked)
    assert [trees.number for trees in trees_of(config, 100, 200).values()] == [2, 0]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"zone": "district"}, "nearest.zone: 'district': the table of nodes has the columns people, jobs"),
        ({"zone": "jobs"}, "nearest.zone: column 'jobs' is double; a zone is a text, an integer, a truth value or a date"),
        ({"zone": "people", "zone_weight": "size"}, "nearest.zone_weight: 'size': the table of nodes has"),
    ],
)
def test_wrong_columns(published, tmp_path, asked, words):
    from tests.pipeline.products.test_products import steps_of

    (tmp_path / "f.csv").write_text("7\n")
    config = NearestConfig(facilities=str(tmp_path / "f.csv"), **asked)
    with pytest.raises(BadConfig, match=words):
        nearest.require_zones(*steps_of(published), config, Runtime(tmp_path))
    with pytest.raises(BadConfig, match=words):
        nearest.tabulate_nearest_zones(*steps_of(published), config, Runtime(tmp_path))


def test_sums_that_no_float_holds_are_refused(tmp_path):
    (tmp_path / "e.csv").write_text("src,dst,weight\n1,2,1e308\n1,3,1e308\n")
    (tmp_path / "n.csv").write_text("vertex,zone\n1,a\n2,b\n3,b\n")
    (tmp_path / "g.toml").write_text('source = "e.csv"\nnodes = "n.csv"\n')
    with pytest.raises(BadInput, match=r"^matrix_zones: a sum of distances, or of weights, exceeds the largest float64$"):
        matrix_into(str(tmp_path / "g.toml"), tmp_path / "m", zone="zone", backend="cpu")
    assert not (tmp_path / "m").exists()


def test_too_many_zones_are_refused_before_anything_is_searched(published, tmp_path, monkeypatch):
    from tests.pipeline.products.test_products import steps_of

    monkeypatch.setattr("pipeline.runtime.memory.free_memory", lambda backend: 1000)
    with pytest.raises(TooLarge, match="matrix_zones: 6 zones with each other takes up to"):
        asked = MatrixOptions(output=tmp_path / "m", zone="people")
        matrix.tabulate_matrix_zones(*steps_of(published), [None, None], asked, Runtime(tmp_path))
