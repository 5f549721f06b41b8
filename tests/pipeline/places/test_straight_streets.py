"""Places on the straight streets of graphs with coordinates; commands with places on streets; what is refused."""

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.changes import change
from pipeline.config.loading import run_config
from pipeline.errors import BadConfig, BadInput, BadSource
from pipeline.inspection.check import check
from pipeline.inspection.estimate import estimate
from pipeline.inspection.path import shortest_path
from pipeline.run import run
from pipeline.store.facts.run import RunFacts
from tests.pipeline.products.calls import matrix_into

# A square near the equator, of about a kilometre; 5 is not connected, and 6 has no coordinates.
CROSSINGS = {1: (7.0, 0.0), 2: (7.01, 0.0), 3: (7.01, 0.01), 4: (7.0, 0.01), 5: (7.02, 0.02)}
ROWS = [(1, 2, 10.5), (2, 1, 4.2), (2, 3, 7.1), (3, 4, 8.0), (4, 1, 2.25), (1, 2, 30.0), (3, 3, 1.0), (1, 6, 1.0)]
PLACES = {"A": (7.0025, 0.0002), "B": (7.0075, -0.0003), "C": (7.0102, 0.0025), "D": (7.0, 0.0), "E": (6.9999, 0.004)}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def csv_of(folder, places=PLACES, name="p.csv"):
    (folder / name).write_text("id,lon,lat\n" + "".join(f"{one},{lon!r},{lat!r}\n" for one, (lon, lat) in places.items()))
    return str(folder / name)


def graph(folder, rows=ROWS, shown=str, **more):
    (folder / "e.csv").write_text("src,dst,weight\n" + "".join(f"{shown(a)},{shown(b)},{w}\n" for a, b, w in rows))
    (folder / "xy.csv").write_text("vertex,x,y\n" + "".join(f"{shown(v)},{x!r},{y!r}\n" for v, (x, y) in CROSSINGS.items()))
    return {"source": str(folder / "e.csv"), "coordinates": str(folder / "xy.csv"), **more}


def config_of(folder, graph, out="out", attach="streets", **asked):
    content = {"graph": graph, "output": folder / out, "stages": ["sssp"], "backend": "cpu"}
    return run_config("test", **content | ({"places": {"attach": attach}} if attach else {}) | asked)


def distances(matrix):
    return pd.read_parquet(matrix.path / "part-00000.parquet").set_index(["source_place", "target_place"]).distance.to_dict()


@pytest.mark.parametrize("named", [False, True])
def test_streets_between_vertices_are_divided_in_both_directions(tmp_path, named):
    shown = (lambda vertex: f"x{9 - vertex}") if named else str  # names descend
    file = csv_of(tmp_path)
    plain = run(config_of(tmp_path, graph(tmp_path, shown=shown), "plain", None, sources=[shown(1), shown(3)]))
    published = run(config_of(tmp_path, graph(tmp_path, shown=shown), sources=[shown(1), shown(3)], nearest={"facilities": file}))
    places = pd.read_parquet(published.path / "places").set_index("id")
    assert places.loc["A"].on_offset in (277.988, 833.963, 833.962, 277.987) and "on_way" not in places.columns
    assert places.loc["D"].metres == 0
    made = matrix_into(str(published.path), tmp_path / "m", sources=file, targets=file, backend="cpu")
    found = distances(made)
    # The lightest of the rows from 1 to 2 is 10.5, back it is 4.2; the others are one-way. Weights have two decimals.
    assert found["D", "A"] == pytest.approx(10.5 / 4, abs=0.01) and found["A", "D"] == pytest.approx(4.2 / 4, abs=0.01)
    assert found["A", "B"] == pytest.approx(10.5 / 2, abs=0.01) and found["B", "A"] == pytest.approx(4.2 / 2, abs=0.01)
    assert found["A", "C"] == pytest.approx(10.5 * 3 / 4 + 7.1 / 4, abs=0.02) and found["C", "E"] == pytest.approx(
        14.675, abs=0.02
    )
    for one, other in (("A", "C"), ("C", "E"), ("D", "C")):  # around the square, to the bit
        assert round(100 * found[one, other]) + round(100 * found[other, one]) == 1050 + 710 + 800 + 225
    assert all(value == round(value, 2) for value in found.values())
    before, after = (pd.read_parquet(one.path / "vertices") for one in (plain, published))
    id_of = dict(zip(after.vertex, after.id, strict=True)) if named else {v: str(v) for v in after.vertex}
    old = dict(zip(before.vertex, before.id, strict=True)) if named else {v: str(v) for v in before.vertex}
    rows = [
        {(ids[row.source], ids[row.vertex]): row.distance for row in pd.read_parquet(one.path / "sssp").itertuples()}
        for ids, one in ((old, plain), (id_of, published))
    ]
    assert {pair: rows[1][pair] for pair in rows[0]} == rows[0]
    if named:
        assert id_of[places.loc["A"].vertex].startswith("x7 - x8 at 833.96")
    else:
        assert places.vertex.drop("D").min() == 7  # behind all ids
    attached = RunFacts.of(published).input.attached
    assert (attached.places, attached.vertices, attached.streets, attached.at_crossings) == (5, 4, 3, 1)
    page = (published.path / "report.html").read_text("utf-8")
    assert "5 on 3 streets" in page


def test_an_undirected_graph_with_integers_declared_vertices_and_islands(tmp_path):
    (tmp_path / "n.csv").write_text("vertex,beds\n" + "".join(f"{one},{one}\n" for one in range(1, 10)))
    rows = [(1, 2, 11), (2, 3, 7), (3, 4, 8), (5, 5, 1)]
    described = graph(tmp_path, rows, directed=False, nodes=str(tmp_path / "n.csv"), node_columns={"declare": True})
    file = csv_of(tmp_path)
    published = run(config_of(tmp_path, described, nearest={"facilities": file}, sources=["7.0025,0.0002", "7.002,0.0"]))
    places = pd.read_parquet(published.path / "places").set_index("id")
    found = distances(matrix_into(str(published.path), tmp_path / "m", sources=file, targets=file, backend="cpu"))
    assert found["A", "B"] == found["B", "A"] == 5 and found["D", "A"] == found["A", "D"] == 3  # 2.75 and 8.25 of 11
    vertices = pd.read_parquet(published.path / "vertices").set_index("vertex")
    assert len(vertices) == 9 + 4 and vertices.loc[places.loc["A"].vertex].isna().beds and vertices.loc[9].beds == 9
    listed = RunFacts.of(published).places
    assert listed[0].vertex == places.loc["A"].vertex and listed[1].metres == 0
    found = shortest_path(published, "7.002,0.0", "7.0025,0.0002")
    assert found.vertices[-1]["distance"] == 1
    with pytest.raises(BadSource, match=r"7\.003,0 is none of the places that this run has attached"):
        shortest_path(published, "7.002,0.0", "7.003,0")


def test_pairs_of_coordinates_and_a_text_of_places_are_attached(tmp_path):
    described = graph(tmp_path)
    pairs = {"src_lon": [7.0025], "src_lat": [0.0002], "dst_lon": [7.0102], "dst_lat": [0.0025]}
    pq.write_table(pa.table(pairs), tmp_path / "pairs.parquet")
    (tmp_path / "s.txt").write_text("7.0075,-0.0003\n3\n")
    published = run(
        config_of(tmp_path, described, sources=str(tmp_path / "s.txt"), flows={"pairs": str(tmp_path / "pairs.parquet")})
    )
    assert RunFacts.of(published).input.attached.vertices == 3
    flows = pd.read_parquet(published.path / "flows")
    assert flows.iloc[:, 2].sum() == 3  # arcs from A to B to 2 to C


def test_places_that_a_run_does_not_have_are_attached_for_a_command(tmp_path):
    more = {"X": (7.005, 0.0001), "A": PLACES["A"]}
    file, others = csv_of(tmp_path), csv_of(tmp_path, more, "q.csv")
    described = graph(tmp_path)
    published = run(config_of(tmp_path, described, nearest={"facilities": file}))
    plain = run(config_of(tmp_path, described, "plain", None, nearest={"facilities": file}))
    whole = run(config_of(tmp_path, described, "whole", nearest={"facilities": others}))
    own = matrix_into(str(whole.path), tmp_path / "a", sources=others, targets=others, backend="cpu")
    later = matrix_into(str(published.path), tmp_path / "b", sources=others, targets=others, backend="cpu")
    asked = matrix_into(
        str(plain.path), tmp_path / "c", sources=others, targets=others, backend="cpu", places={"attach": "streets"}
    )
    assert distances(own) == distances(later) == distances(asked)
    table = pd.read_parquet(later.path / "part-00000.parquet")
    assert table.source.min() > pd.read_parquet(published.path / "vertices").vertex.max()  # no id has two meanings
    (tmp_path / "v.csv").write_text(f"id,vertex\nZ,{pd.read_parquet(published.path / 'places').vertex.max()}\n")
    kept = matrix_into(str(published.path), tmp_path / "d", sources=str(tmp_path / "v.csv"), targets=file, backend="cpu")
    assert len(pd.read_parquet(kept.path / "part-00000.parquet")) == 5


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"graph": {"parallel": "sum"}}, 'needs parallel = "lightest"'),
        ({"layout": {"symmetrise": True}}, "symmetrise opens all of them"),
        ({"stages": ["max_flow"], "max_flow": {"pairs": "pairs.parquet"}}, "stage max_flow takes for capacities"),
        ({"graph": {"columns": {"weight": False}}}, "these edges have none"),
        ({"graph": {"coordinates": None}}, "needs the coordinates of vertices"),
        ({"snap_limit": 20}, r"p\.csv: row 0: 'A' at 7\.0025,0\.0002 is 22\.\d+ m from the nearest street, "
                             r"from 1 to 2; the limit is 20 m"),
    ],
)  # fmt: skip
def test_what_would_not_be_right_is_refused(tmp_path, changed, message):
    pq.write_table(pa.table({"src": [1], "dst": [3]}), tmp_path / "pairs.parquet")
    described = {**graph(tmp_path), **changed.get("graph", {})}
    rows = [*ROWS, (5, 7, 1.0)]
    (tmp_path / "e.csv").write_text("src,dst,weight\n" + "".join(f"{a},{b},{w}\n" for a, b, w in rows))
    asked = {key: value for key, value in changed.items() if key != "graph"}
    if "max_flow" in asked:
        asked["max_flow"] = {"pairs": str(tmp_path / "pairs.parquet")}
    described = {key: value for key, value in described.items() if value is not None}
    with pytest.raises((BadConfig, BadInput, BadSource), match=message):
        run(config_of(tmp_path, described, **{"nearest": {"facilities": csv_of(tmp_path)}} | asked))
    assert not (tmp_path / "out" / "latest").exists()


def test_weights_that_cannot_be_divided_islands_and_turned_places_are_refused(tmp_path):
    rows = [(1, 2, 0.1 + 0.2), (2, 3, 1 / 3)]
    with pytest.raises(BadInput, match="too many decimals for exact sums"):
        run(config_of(tmp_path, graph(tmp_path, rows), nearest={"facilities": csv_of(tmp_path)}))
    described = graph(tmp_path, [(1, 2, 4), (2, 3, 4), (3, 2, 1), (4, 5, 3)])
    with pytest.raises(BadSource, match=r"0,7 is .* km from .*; 7,0 is 0\.0 m from a street: a place is LON,LAT"):
        run(config_of(tmp_path, described, sources=["0,7.0"]))
    with pytest.raises(BadSource, match=r'from 4 to 5 of a smaller component is .* away: snap_to = "any" takes it'):
        check(config_of(tmp_path, described, sources=["7.02,0.02"]))
    published = run(config_of(tmp_path, described, sources=["7.02,0.02"], snap_to="any"))
    assert [one.vertex for one in RunFacts.of(published).places] == [5]
    (tmp_path / "c.csv").write_text("op,src,dst,weight\ninsert,1,3,1\n")
    with pytest.raises(BadConfig, match="places are attached to streets"):
        change(tmp_path / "out", str(tmp_path / "c.csv"), backend="cpu")


def test_a_check_and_an_estimate_know_of_places_on_streets(tmp_path):
    config = config_of(tmp_path, graph(tmp_path), nearest={"facilities": csv_of(tmp_path)})
    assert check(config).input.attached.places == 5
    assert "attached" in estimate(config).seconds
    with pytest.raises(BadConfig, match=r"places\.attach: has no effect"):
        from pipeline.config.effects import require_effect

        require_effect("t", config_of(tmp_path, graph(tmp_path), sources=[1]))
