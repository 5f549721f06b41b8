"""Places `LON,LAT` instead of vertices: how far they may be, which vertices may stand for them, and what a run says of them."""

import json
import math

import pytest

from pipeline.cli.command import app
from pipeline.config.loading import run_config
from pipeline.errors import BadConfig, BadSource
from pipeline.run import run
from pipeline.store.facts.run import RunFacts
from pipeline.store.manifest import read
from pipeline.tables import files as tables
from tests.pipeline.products.calls import matrix_into, trees_into

# A street of three crossings in Berne, and one of two in a smaller component, 50 m to the north of its last crossing.
BERNE = {1: (7.44, 46.94), 2: (7.45, 46.94), 3: (7.46, 46.95), 8: (7.46, 46.95045), 9: (7.47, 46.96)}
EDGES = [(1, 2), (2, 3), (8, 9)]
METRE = math.degrees(1 / 6_371_008.8)  # of latitude


def streets(folder, named=False):
    """The graph's table of a configuration; with names the ids are texts."""
    folder.mkdir(exist_ok=True)
    shown = (lambda vertex: f"crossing {vertex}") if named else str
    (folder / "e.csv").write_text("src,dst\n" + "".join(f"{shown(a)},{shown(b)}\n" for a, b in EDGES))
    (folder / "xy.csv").write_text("vertex,x,y\n" + "".join(f"{shown(v)},{x!r},{y!r}\n" for v, (x, y) in BERNE.items()))
    return {"source": str(folder / "e.csv"), "coordinates": str(folder / "xy.csv")}


def run_of(folder, graph, *places, **asked):
    content = {"graph": graph, "output": folder / "out", "stages": ["wcc"], "backend": "cpu", "sources": places} | asked
    return run(run_config("test", **content))


def in_table(table, key, **more):
    """A run in which a file that a table of the configuration names has the place."""

    def asked(folder, graph, place, **options):
        (folder / "places.txt").write_text(f"{place}\n")
        return run_of(folder, graph, **{table: {key: str(folder / "places.txt"), **more}}, **options)

    return asked


def in_command(command, option):
    def asked(folder, graph, place, **options):
        folder.mkdir(exist_ok=True)
        (folder / "places.txt").write_text(f"2\n{place}\n")
        (folder / "graph.toml").write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in graph.items()))
        files = {option: str(folder / "places.txt")}
        return command(str(folder / "graph.toml"), folder / "table", backend="cpu", **files, **options)

    return asked


def checked(folder, graph, place, **options):
    given = [text for key, value in options.items() for text in (f"--{key.replace('_', '-')}", str(value))]
    command = ["check", graph["source"], "--coordinates", graph["coordinates"], "--source", place, *given]
    app([*command, "--backend", "cpu"], result_action="return_value", exit_on_error=False)


WAYS = {
    "sources": run_of,
    "check": checked,
    "facilities": in_table("nearest", "facilities"),
    "isochrones": in_table("isochrones", "sources", thresholds=[1]),
    "closeness": in_table("closeness", "sources"),
    "matrix from": in_command(matrix_into, "sources"),
    "matrix to": in_command(matrix_into, "targets"),
    "trees": in_command(trees_into, "sources"),
}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.parametrize("way", WAYS)
def test_a_place_far_from_every_vertex_is_refused_wherever_it_is_named(tmp_path, way):
    graph = streets(tmp_path / way)
    for place, words in (
        (
            "0.0,0.0",
            r"source 0,0 is 5,\d{3} km from the nearest .* largest component, 1 at 7\.44,46\.94; the limit is 1,000",
        ),
        (
            "46.9401,7.4502",
            r"is 5,\d{3} km .*; 7\.4502,46\.9401 is 1\d\.\d m from vertex 2: a place is LON,LAT in degrees",
        ),
        ("7.46,98.5", "'7.46,98.5' is no id, and as a place its latitude 98.5 is not in -90..90; a place is LON,LAT"),
        ("-180.5,46.9", "longitude -180.5 is not in -180..180"),
    ):
        with pytest.raises(BadSource, match=words) as caught:
            WAYS[way](tmp_path / way, graph, place)
        assert "column" not in str(caught.value)
    assert not (tmp_path / way / "table").exists()
    WAYS[way](tmp_path / way, graph, "7.4502,46.9401")
    with pytest.raises(BadSource, match=r"is 1\d\.\d m from the nearest vertex .*; the limit is 12\.25 m \(snap_limit\)"):
        WAYS[way](tmp_path / way, graph, "7.4502,46.9401", snap_limit=12.25)


@pytest.mark.parametrize(("metres", "limit", "fits"), [(250, 249.9, False), (250, 250.1, True), (0, 0, True), (0.5, 0.4, False)])
def test_the_limit_is_exact(tmp_path, metres, limit, fits):
    place = f"{BERNE[1][0]},{BERNE[1][1] - metres * METRE:.15f}"
    asked = {"snap_limit": limit}
    if not fits:
        with pytest.raises(BadSource, match=rf"is {metres}(\.0)? m .*; the limit is {limit} m"):
            run_of(tmp_path, streets(tmp_path), place, **asked)
        return
    (found,) = RunFacts.of(run_of(tmp_path, streets(tmp_path), place, **asked)).places
    assert (found.key, found.vertex, found.name) == ("sources", 1, None)
    assert found.metres == pytest.approx(metres, abs=1e-5)


@pytest.mark.parametrize("named", [False, True])
def test_a_smaller_component_is_taken_only_if_asked(tmp_path, named):
    graph = streets(tmp_path, named)
    for asked, vertex in (({}, 3), ({"snap_to": "largest"}, 3), ({"snap_to": "any"}, 8)):
        published = run_of(tmp_path, graph, "7.46,46.9506", publish_as="latest", **asked)
        (found,) = RunFacts.of(published).places
        expected = ([*BERNE].index(vertex), f"crossing {vertex}") if named else (vertex, None)
        assert (found.vertex, found.name) == expected
    with pytest.raises(BadSource, match=r"component, .*3 at .*; vertex .*9 of a smaller component is 0\.0 m away: snap_to"):
        run_of(tmp_path, graph, "7.47,46.96")
    with pytest.raises(BadConfig, match=r"snap_to: .*'largest' or 'any'"):
        run_of(tmp_path, graph, "7.47,46.96", snap_to="road")


def test_every_place_is_listed_with_its_vertex_and_metres(tmp_path, capsys):
    graph = streets(tmp_path)
    (tmp_path / "shops.txt").write_text("3\n7.4401,46.94\n7.451,46.94\n")
    (tmp_path / "near.txt").write_text("7.4601,46.95\n")
    published = run_of(
        tmp_path, graph, 2, "7.4402,46.94", nearest={"facilities": str(tmp_path / "shops.txt")}, closeness={},
        isochrones={"thresholds": [1], "sources": str(tmp_path / "near.txt")}, stages=["bfs"],
    )  # fmt: skip
    listed = read(published.path).facts["places"]
    east = METRE / math.cos(math.radians(46.94))
    assert [(one["key"], one["place"], one["vertex"]) for one in listed] == [
        ("sources", [7.4402, 46.94], 1),
        ("nearest.facilities", [7.4401, 46.94], 1),
        ("nearest.facilities", [7.451, 46.94], 2),
        ("isochrones.sources", [7.4601, 46.95], 3),
    ]
    assert [one["metres"] for one in listed] == [pytest.approx(x / east, rel=1e-3) for x in (0.0002, 0.0001, 0.001, 0.0001)]
    page = (published.path / "report.html").read_text("utf-8")
    for cell in ("nearest.facilities", "7.451, 46.94", f"{0.001 / east:.1f}"):
        assert f">{cell}<" in page
    assert "places" not in read(run_of(tmp_path, graph, 2, publish_as="latest").path).facts
    command = ["run", graph["source"], "--coordinates", graph["coordinates"], "--source", "7.451,46.94", "--stages", "bfs"]
    app([*command, "--out", str(tmp_path / "o"), "--backend", "cpu"], result_action="return_value", exit_on_error=False)
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  places ")]
    assert line.split(None, 1)[1] == "1, the farthest, 7.451,46.94, is 75.9 m from the vertex that stands for it"


def test_the_manifest_of_a_command_lists_the_places_that_it_was_given_now(tmp_path):
    graph = streets(tmp_path)
    for place, reused in (("7.4501,46.94", False), ("7.4502,46.94", False), ("7.4502,46.94", True)):
        made = in_command(matrix_into, "targets")(tmp_path, graph, place)
        assert made.reused == reused
        (listed,) = made.manifest.parameters["places"]
        assert (listed["key"], listed["place"], listed["vertex"]) == ("targets", [float(place[:6]), 46.94], 2)
    assert "places" not in in_command(trees_into, "sources")(tmp_path / "trees", graph, "3").manifest.parameters


def test_components_that_a_place_needs_are_not_called_reused(tmp_path):
    published = run_of(tmp_path, streets(tmp_path), "7.4502,46.94", stages=["bfs"])
    assert not RunFacts.of(published).steps["bfs"].reused
    assert "wcc" not in RunFacts.of(published).tables
    published = run_of(tmp_path / "more", streets(tmp_path / "more"), "7.4502,46.94", stages=["wcc"])
    assert not RunFacts.of(published).steps["wcc"].reused
    assert (
        RunFacts.of(run_of(tmp_path / "more", streets(tmp_path / "more"), "7.4502,46.94")).steps["bfs" if False else "wcc"].reused
    )


def test_vertices_across_the_meridian_and_at_a_pole_are_near(tmp_path):
    (tmp_path / "e.csv").write_text("src,dst\n1,2\n2,3\n")
    (tmp_path / "xy.csv").write_text("vertex,x,y\n1,180,-16.8\n2,-100.5,90\n3,-179.5,-17\n")
    graph = {"source": str(tmp_path / "e.csv"), "coordinates": str(tmp_path / "xy.csv")}
    for place, vertex in (("-179.9999,-16.8", 1), ("179.5,-17.0", None), ("77.7,89.999", 2)):
        if vertex is None:
            with pytest.raises(BadSource, match=r"is 58 km from the nearest vertex, 1 at 180,-16\.8"):
                run_of(tmp_path, graph, place)
        else:
            published = run_of(tmp_path, graph, place, stages=["bfs"], publish_as="latest")
            assert tables.read(published.path / "bfs")["source"][0].as_py() == vertex


def test_a_limit_of_an_earlier_version_does_not_move_latest(tmp_path, monkeypatch):
    """A run of options keeps `latest` after an upgrade, although the manifest before does not have the new keys."""
    graph = streets(tmp_path)
    first = run_of(tmp_path, graph, 2)
    values = RunFacts.of(first).configuration.values
    assert values["snap_limit"] == 1000 and values["snap_to"] == "largest"
    from pipeline.steps.publication import target

    older = {key: value for key, value in values.items() if not key.startswith("snap")}
    config = run_config("test", graph=graph, output=tmp_path / "out", stages=["wcc"], backend="cpu", sources=[2])
    assert target._chosen(config, {"file": "nightly", "changed": [], "values": older}) == ("latest", "")
    other = config.model_copy(update={"snap_to": "any"})
    assert target._chosen(other, {"file": "nightly", "changed": [], "values": values})[1] == "this run differs from it in snap_to"
