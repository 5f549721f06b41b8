"""Streets of an extract are the arcs that a second reader makes of it, whatever wrote it and however it is compressed."""

import bz2
import random
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from pipeline.config.graph import GraphConfig
from pipeline.errors import BadInput, ProofFailed
from pipeline.ingest import ingest
from pipeline.ingest.formats.osm import reading
from pipeline.ingest.roads.lengths import millimetres
from pipeline.store.facts import EdgeFacts
from pipeline.tables.points import sorted_coordinates
from pipeline.tables.streets import STREETS
from tests.counts import NIGHTLY
from tests.ingest.osm.extracts import Node, Way, arcs_of, expected, metres, read, write

FORMS = {
    "dense.osm.pbf": "", "plain.osm.pbf": "pbf,pbf_dense_nodes=false", "raw.osm.pbf": "pbf,pbf_compression=none",
    "lz4.osm.pbf": "pbf,pbf_compression=lz4", "a.osm": "", "a.osm.bz2": "", "a.osm.gz": "",
    "located.osm.pbf": "pbf,locations_on_ways=true",
}  # fmt: skip
LINE = [Node(1, 0, 0), Node(2, 0.001, 0), Node(3, 0.002, 0), Node(4, 0.003, 0)]


def by_direction(tags):
    if tags.get("highway") in (None, "footway"):
        return None
    oneway = tags.get("oneway")
    return oneway != "-1", oneway not in ("yes",)


def random_extract(seed):
    """Ways that cross, touch and close themselves, repeat nodes, and miss some; nodes with barriers, and some that come twice."""
    chosen = random.Random(seed)
    ids = sorted(chosen.sample(range(1, 10 ** chosen.choice([2, 6, 12])), 30))
    barriers = {"barrier": "bollard"}, {"barrier": "gate"}, {"name": "x"}, {}, {}, {}, {}
    nodes = [
        Node(one, chosen.uniform(-179, 179), chosen.uniform(-80, 80), **chosen.choice(barriers))
        for one in ids
        if chosen.random() < 0.9
    ]
    nodes += [Node(one.id, 1, 1) for one in chosen.sample(nodes, 2)]
    ways = []
    for number in range(chosen.randrange(12)):
        refs = [one for one in chosen.choices(ids, k=chosen.randrange(1, 9)) for _ in range(chosen.choice([1, 1, 1, 2]))]
        refs += refs[:1] if chosen.random() < 0.3 else []
        kinds = (
            {"highway": "residential"},
            {"highway": "residential", "oneway": "yes"},
            {"highway": "residential", "oneway": "-1"},
        )
        kinds += {"highway": "footway"}, {"building": "yes"}, {"highway": "residential", "name": "Straße"}
        ways.append(Way(number + 1, refs, chosen.choice(kinds)))
    return nodes, ways


@pytest.mark.sampled
@pytest.mark.parametrize("name", FORMS)
def test_random_extracts_are_read_as_by_a_second_reader(name, tmp_path):
    for seed in range(2000 if NIGHTLY else 12):
        path = write(tmp_path / name, *random_extract(seed), FORMS[name])
        read_as = read(path, tmp_path / "work", weight="distance")
        arcs, due = arcs_of(read_as), expected(path, by_direction, {"bollard"})
        assert [arc[:2] for arc in arcs] == [arc[:2] for arc in due], seed
        assert len(arcs_of(read(path, tmp_path / "work", islands=4))) <= len(arcs), seed  # which is proved in another way
        assert all(abs(arc[2] - one[2]) <= 3 for arc, one in zip(arcs, due, strict=True)), seed  # of long segments by the library


def test_chains_have_their_line_name_class_and_way(tmp_path):
    nodes = [*LINE, Node(5, 0.002, 0.001)]
    ways = [Way(10, [1, 2, 3, 4], name="Allee"), Way(11, [3, 5], highway="tertiary", oneway="yes")]
    edges = read(write(tmp_path / "a.osm.pbf", nodes, ways), tmp_path / "work", weight="distance")
    streets = pq.read_table(edges.path / STREETS).to_pylist()
    assert [(one["src"], one["dst"], one["way"], one["name"], one["class"]) for one in streets] == [
        (1, 3, 10, "Allee", "residential"), (3, 4, 10, "Allee", "residential"), (3, 5, 11, None, "tertiary"),
    ]  # fmt: skip
    assert streets[0]["points"] == [0, 0, 10_000, 0, 20_000, 0]
    assert (streets[0]["length"], streets[2]["backward"]) == (2 * round(1000 * metres((0, 0), (0.001, 0))), None)
    assert sorted_coordinates(edges).to_pydict() == {"vertex": [1, 3, 4, 5], "x": [0, 0.002, 0.003, 0.002], "y": [0, 0, 0, 0.001]}
    assert EdgeFacts.of(edges).measure == "millimetres (length)"


def test_points_are_stored_by_bytes_in_half_the_space(tmp_path):
    nodes, ways = random_extract(3)
    edges = read(write(tmp_path / "a.osm.pbf", nodes, ways), tmp_path / "work", weight="distance")
    group = pq.ParquetFile(edges.path / STREETS).metadata.row_group(0)
    columns = {column.path_in_schema: column.encodings for column in map(group.column, range(group.num_columns))}
    assert "BYTE_STREAM_SPLIT" in columns["points.list.element"]
    assert all("DELTA_BINARY_PACKED" in columns[name] for name in ("src", "dst", "forward", "backward", "way", "length"))


def test_times_are_exact_quotients_rounded_once(tmp_path):
    edges = read(write(tmp_path / "a.osm.pbf", LINE, [Way(1, [1, 2, 3], maxspeed="30 mph")]), tmp_path / "work")
    length = 2 * round(1000 * metres((0, 0), (0.001, 0)))
    assert arcs_of(edges) == [(1, 3, time := round(length * 3600 / 48280.32)), (3, 1, time)]
    assert EdgeFacts.of(edges).measure == "milliseconds (travel time)"


def test_a_ferry_takes_the_time_that_it_states(tmp_path):
    nodes, ways = [*LINE, Node(5, 0.001, 1)], [Way(1, [1, 2, 3], {"route": "ferry", "duration": "0:20", "motor_vehicle": "yes"})]
    edges = read(write(tmp_path / "a.osm.pbf", nodes, [*ways, Way(2, [2, 5])]), tmp_path / "work")
    assert [row for row in arcs_of(edges) if row[0] < row[1]][:2] == [(1, 2, 600_000), (2, 3, 600_000)]


def test_what_is_left_out_is_counted(tmp_path):
    nodes = [*LINE[:3], Node(6, 1, 1, barrier="bollard"), Node(7, 1.1, 1), Node(8, 2, 2), Node(9, 2.1, 2), Node(1, 5, 5)]
    ways = [
        Way(1, [1, 2, 2, 3, 99]), Way(2, [3, 1], highway="footway"), Way(3, [6, 7]), Way(4, [8, 9]), Way(4, [8, 9]),
        Way(5, [1, 3], access="private"), Way(6, [8, 9], highway="x"), Way(7, [1, 2, 1]),
    ]  # fmt: skip
    facts = EdgeFacts.of(read(write(tmp_path / "a.osm.pbf", nodes, ways), tmp_path / "work", islands=3)).roads
    assert facts.ways_left == {"access": 1, "another value of highway": 1, "highway=footway": 1}
    assert {name: getattr(facts, name) for name in (
        "ways", "chains", "loops", "missing_nodes", "barriers", "cut_ways", "repeated_nodes", "duplicate_nodes", "duplicate_ways",
        "islands", "island_vertices",
    )} == {
        "ways": 4, "chains": 4, "loops": 0, "missing_nodes": 1, "barriers": 1, "cut_ways": 2, "repeated_nodes": 1,
        "duplicate_nodes": 1, "duplicate_ways": 1, "islands": 1, "island_vertices": 2,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("place", "other", "length"),
    [
        ((0, 0), (0, 0), 0), ((0, 0), (180, 0), 20_015_114_442), ((-180, 12), (180, 12), 0), ((7, -90), (9, 90), 20_015_114_442),
        ((0, 0), (90, 0), 10_007_557_221), ((8.5, 47.3), (8.5000001, 47.3), 8), ((-179.9, 0), (179.9, 0), 22_239_016),
    ],
)  # fmt: skip
def test_lengths_are_those_of_the_sphere(place, other, length):
    units = [round(axis * 10**7) for axis in (*place, *other)]
    assert millimetres(*units) == millimetres(*units[2:], *units[:2]) == length
    assert abs(length - 1000 * metres(place, other)) < 0.6


def test_lengths_are_those_of_the_library_to_the_millimetre():
    chosen = random.Random(7)
    for _ in range(2000):
        lon, lat = chosen.uniform(-180, 180), chosen.uniform(-89, 89)
        reach = 10 ** chosen.uniform(-6, 0)
        other = max(-180, min(180, lon + chosen.uniform(-reach, reach))), max(-90, min(90, lat + chosen.uniform(-reach, reach)))
        units = [round(axis * 10**7) for axis in (lon, lat, *other)]
        near = 1000 * metres([unit / 1e7 for unit in units[:2]], [unit / 1e7 for unit in units[2:]])
        assert abs(millimetres(*units) - near) <= 0.5 + 1e-4


def test_nothing_depends_on_the_number_of_threads(tmp_path, monkeypatch):
    nodes = [Node(one, one % 300 / 1000, one // 300 / 1000) for one in range(1, 30_000)]
    ways = [Way(one, range(one * 7, one * 7 + 20)) for one in range(1, 4200)]
    path = write(tmp_path / "a.osm.pbf", nodes, ways)
    digests = []
    for cores in (1, 5):
        monkeypatch.setattr("pipeline.ingest.formats.osm.pbf.cores", lambda cores=cores: cores)
        edges = read(path, tmp_path / str(cores))
        digests.append({name: file.blake3 for name, file in edges.manifest.files.items()})
    assert digests[0] == digests[1]
    assert EdgeFacts.of(edges).edges > 10_000


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"osm": {}}, r'state who travels: profile = "car", "bicycle" or "foot" below .graph.osm.'),
        ({"directed": False}, "graph.directed is false, but the tags"),
        ({"coordinates": "a.co"}, "graph.coordinates is given"),
        ({"columns": {"src": "a"}}, "graph.columns is given, but does not apply to format osm"),
        ({"ids": "string"}, "graph.ids is given"),
    ],
)
def test_keys_that_do_not_apply_are_refused(keys, reason, tmp_path):
    path = write(tmp_path / "a.osm.pbf", LINE, [Way(1, [1, 2])])
    (tmp_path / "a.co").write_text("p aux sp co 1\nv 1 0 0\n")
    keys = {name: str(tmp_path / text) if name == "coordinates" else text for name, text in keys.items()}
    with pytest.raises(BadInput, match=reason):
        ingest(GraphConfig(source=str(path), **({"osm": {"profile": "car"}} | keys)), tmp_path / "work")


def test_a_profile_for_another_format_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("src,dst\n1,2\n")
    with pytest.raises(BadInput, match=r"graph\.osm is given, but does not apply to format csv"):
        read(tmp_path / "a.csv", tmp_path / "work")


def test_weights_may_be_ignored(tmp_path):
    path = write(tmp_path / "a.osm.pbf", LINE, [Way(1, [1, 2])])
    assert arcs_of(read(path, tmp_path / "work", columns={"weight": False})) == [(1, 2), (2, 1)]


def test_an_extract_without_streets_is_an_empty_graph(tmp_path):
    edges = read(write(tmp_path / "a.osm.pbf", LINE, []), tmp_path / "work")
    assert (arcs_of(edges), EdgeFacts.of(edges).roads.ways) == ([], 0)


def test_bz2_of_pbf_is_read_from_a_copy(tmp_path):
    path = write(tmp_path / "a.osm.pbf", LINE, [Way(1, [1, 2])])
    (tmp_path / "b.osm.pbf.bz2").write_bytes(bz2.compress(path.read_bytes()))
    assert len(arcs_of(read(tmp_path / "b.osm.pbf.bz2", tmp_path / "work"))) == 2


@pytest.mark.parametrize("broken", ["length", "points", "end", "weight", "name", "missing"])
def test_a_wrong_street_is_not_proved(broken, tmp_path, monkeypatch):
    """The splitter's answer is changed before it is stored."""
    path = write(tmp_path / "a.osm.pbf", [*LINE, Node(5, 1, 1)], [Way(1, [1, 2, 3, 4], name="a"), Way(2, [2, 5], oneway="yes")])
    right = reading.chains_of

    def wrong(*arguments):
        chains = right(*arguments)
        if broken == "missing":
            return chains.only(chains.way == 0)
        if broken == "length":
            return replace(chains, length=chains.length + (chains.way == 1) * 2)
        if broken == "end":
            return replace(chains, last=chains.last - (chains.last - chains.first > 1))
        return chains

    monkeypatch.setattr(reading, "chains_of", wrong)
    if broken in ("points", "name", "weight"):
        monkeypatch.setattr(reading, "RoadNetwork", changed(broken, reading.RoadNetwork))
    with pytest.raises(ProofFailed, match="edges: "):
        read(path, tmp_path / "work")


def changed(what, network):
    class Changed(network):
        def streets(self):
            for table in super().streets():
                rows = table.to_pylist()
                if what == "points":
                    rows[0]["points"][2] += 1
                elif what == "name":
                    rows[0]["name"] = "b"
                else:
                    rows[0]["forward"] += 1
                yield table.from_pylist(rows, table.schema)

    return Changed
