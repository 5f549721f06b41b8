"""Files of changes (`.osc`): the tables are those of a run over the extract to which osmium has applied them, to the byte."""

import random
from pathlib import Path

import osmium
import pyarrow.parquet as pq
import pytest
from osmium.osm import mutable

from pipeline.changes import change
from pipeline.changes.arrivals import apply_arrivals
from pipeline.config.loading import run_config
from pipeline.errors import AlreadyApplied, BadConfig, BadInput
from pipeline.run import run
from pipeline.store.facts.run import RunFacts
from tests.counts import NIGHTLY
from tests.pipeline.runs.commands import graphmill

PLACES = [(one / 1000 % 0.012, one // 12 / 1000) for one in range(60)]


def node(id, version=1, gone=False, move=0.0, **tags):
    lon, lat = PLACES[id % 60]
    place = None if gone else (lon + move, lat)
    return mutable.Node(id=id, location=place, version=version, visible=not gone, tags=tags, timestamp="2026-11-01T00:00:00Z")


def way(id, nodes, version=1, gone=False, **tags):
    stamp = "2026-11-01T00:00:00Z"
    return mutable.Way(
        id=id, nodes=nodes, version=version, visible=not gone, tags={"highway": "residential"} | tags, timestamp=stamp
    )


def relation(id, version=1, gone=False):
    return mutable.Relation(id=id, version=version, visible=not gone, members=[("w", 1, "outer")], tags={"type": "site"})


def written(path, elements):
    """An extract, or a file of changes, in osmium's order."""
    path.unlink(missing_ok=True)
    kinds = (mutable.Node, "add_node"), (mutable.Way, "add_way"), (mutable.Relation, "add_relation")
    with osmium.SimpleWriter(str(path)) as writer:
        for kind, add in kinds:
            for one in sorted((one for one in elements if isinstance(one, kind)), key=lambda one: (one.id, one.version)):
                getattr(writer, add)(one)
    return path


def updated(path, extract, *changes):
    """The extract that osmium makes of another one and files of changes."""
    merged = osmium.MergeInputReader()
    for file in (extract, *changes):
        merged.add_file(str(file))
    visible = Visible(path)
    merged.apply(visible, simplify=True)
    visible.writer.close()
    return path


class Visible(osmium.SimpleHandler):
    """Writes what is not deleted."""

    def __init__(self, path):
        super().__init__()
        path.unlink(missing_ok=True)
        self.writer = osmium.SimpleWriter(str(path))

    def node(self, one):
        self.writer.add_node(one) if one.visible else None

    def way(self, one):
        self.writer.add_way(one) if one.visible else None

    def relation(self, one):
        self.writer.add_relation(one) if one.visible else None


def random_elements(chosen, count, versions):
    """Nodes, ways and relations of random versions, each at most once."""
    kinds = {"highway": "residential"}, {"highway": "footway"}, {"highway": "primary", "oneway": "yes"}, {"name": "Straße"}
    nodes = [node(one, chosen.choice(versions), chosen.random() < 0.2, chosen.choice([0, 1e-5]), **chosen.choice(
        ({}, {}, {}, {"barrier": "bollard"}))) for one in chosen.sample(range(1, 60), count)]  # fmt: skip
    ways = [way(one, chosen.choices(range(1, 60), k=chosen.randrange(2, 7)), chosen.choice(versions), chosen.random() < 0.2,
                **chosen.choice(kinds)) for one in chosen.sample(range(1, 25), count // 3)]  # fmt: skip
    return [
        *nodes,
        *ways,
        *(relation(one, chosen.choice(versions), chosen.random() < 0.3) for one in chosen.sample(range(1, 9), 3)),
    ]


def first_run(folder, elements, name="town.osm.pbf", **more):
    path = written(folder / name, elements)
    graph = {"source": str(path), "osm": {"profile": "car"}}
    return run(run_config("test", graph=graph, output=folder / "out", stages=["wcc", "sssp"], **more))


def contents(published: Path) -> dict[str, bytes]:
    return {str(file.relative_to(published)): file.read_bytes() for file in sorted(published.glob("*/*.parquet"))
            if not file.parent.name.endswith("_changes")}  # fmt: skip


def stated(facts):
    return {name: fact for name, fact in facts.stored().items() if name not in ("updates", "seconds")}


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(200 if NIGHTLY else 3))
def test_tables_are_those_of_the_updated_extract(seed, tmp_path):
    chosen, form = random.Random(seed), ("town.osm.pbf", "town.osm.bz2", "town.osm.gz")[seed % 3]
    base = [one for one in random_elements(chosen, 45, [2, 4, 6]) if one.visible]
    first_run(tmp_path, base, form)
    files = []
    for number, ending in enumerate(("osc.gz", "osc", "osc.bz2")):
        files.append(written(tmp_path / f"{number}.{ending}", random_elements(chosen, 15, [(1, 5), (3, 9), (7, 11)][number])))
        published = change(tmp_path / "out", files[-1])
        (tmp_path / f"rebuilt-{number}").mkdir()
        rebuilt = updated(tmp_path / f"rebuilt-{number}" / "town.osm.pbf", tmp_path / form, *files)
        graph = {"source": str(rebuilt), "osm": {"profile": "car"}}
        due = run(run_config("test", graph=graph, output=tmp_path / "due", stages=["wcc", "sssp"]))
        assert contents(published.path) == contents(due.path), number
        facts, of_due = (RunFacts.of(one).input.roads for one in (published, due))
        assert stated(facts) == stated(of_due)
        assert facts.updates.files == number + 1


def town(folder, name="town.osm.pbf", **more):
    return first_run(folder, [node(1, 3), node(2, 3), node(3, 3), way(10, [1, 2, 3], 3), way(20, [3, 1], 3)], name, **more)


def test_elements_are_counted_by_what_became_of_them(tmp_path):
    town(tmp_path)
    elements = [
        node(1, 4, move=1e-4), node(2, 2), node(3, 3), node(70, 1), node(71, 2, gone=True), way(10, [], 4, gone=True),
        way(11, [1, 70], 1), relation(1, 2, gone=True),
    ]  # fmt: skip
    published = change(tmp_path / "out", written(tmp_path / "a.osc", elements))
    facts = RunFacts.of(published).input.roads.updates
    assert facts.stored() == {
        "files": 1, "nodes": 3, "ways": 1, "relations": 0, "deleted": 1, "absent": 2, "older": 1,
        "timestamp": "2026-11-01T00:00:00Z",
    }  # fmt: skip
    assert (published.path / "applied.jsonl").read_text().startswith('["a.osc", "')


def test_an_extract_without_versions_takes_all_changes(tmp_path):
    (tmp_path / "town.osm").write_text(
        "<osm version='0.6'><node id='1' lat='0' lon='0'/><node id='2' lat='0' lon='1'/>"
        "<way id='5'><nd ref='1'/><nd ref='2'/><tag k='highway' v='residential'/></way></osm>"
    )
    graph = {"source": str(tmp_path / "town.osm"), "osm": {"profile": "car", "weight": "distance"}}
    run(run_config("test", graph=graph, output=tmp_path / "out", stages=["wcc"]))
    (tmp_path / "a.osc").write_text("<osmChange><modify><node id='2' lat='0' lon='2'/></modify></osmChange>")
    published = change(tmp_path / "out", tmp_path / "a.osc")
    assert pq.read_table(published.path / "arcs")["length"].to_pylist() == [222_390.16, 222_390.16]


def test_what_is_not_touched_is_not_computed_again(tmp_path):
    town(tmp_path)
    files = [written(tmp_path / f"{one}.osc.gz", [node(90 + one, 1), way(30 + one, [1, 2], highway="steps")]) for one in (0, 1)]
    for number, file in enumerate(files, 1):
        published = change(tmp_path / "out", file)
        steps = RunFacts.of(published).steps
        assert {name for name, step in steps.items() if step.reused} >= {"graph", "wcc", "sssp", "proof-wcc"}
        assert RunFacts.of(published).input.roads.updates.ways == number
    published = change(tmp_path / "out", written(tmp_path / "2.osc", [way(20, [3, 1], 4, highway="primary")]))
    assert not RunFacts.of(published).steps["graph"].reused


def test_what_cannot_be_applied_is_refused(tmp_path):
    town(tmp_path)
    file = written(tmp_path / "a.osc.gz", [node(1, 4)])
    change(tmp_path / "out", file)
    with pytest.raises(AlreadyApplied, match=r"a\.osc\.gz: was already applied, as file 1 of 1"):
        change(tmp_path / "out", file)
    assert RunFacts.of(change(tmp_path / "out", file, again=True)).input.roads.updates.files == 2
    written(tmp_path / "town.osm.pbf", [node(1), node(2), way(10, [1, 2])])
    with pytest.raises(BadInput, match=r"town\.osm\.pbf: is not the extract from which the graph was read"):
        change(tmp_path / "out", written(tmp_path / "b.osc", [node(1, 5)]))


def test_a_file_without_changes_may_come_again(tmp_path):
    town(tmp_path)
    (tmp_path / "a.osc").write_text("<osmChange version='0.6'/>")
    for number in (1, 2):
        assert RunFacts.of(change(tmp_path / "out", tmp_path / "a.osc")).input.roads.updates.files == number
    with pytest.raises(BadConfig, match="count_violations has no effect"):
        change(tmp_path / "out", tmp_path / "a.osc", count_violations=True)


def test_changes_of_edges_end_those_of_the_extract(tmp_path):
    town(tmp_path)
    change(tmp_path / "out", written(tmp_path / "a.osc", [node(2, 4, move=1e-4)]))
    (tmp_path / "b.csv").write_text("op,src,dst,weight\ninsert,3,2,7\n")
    published = change(tmp_path / "out", tmp_path / "b.csv")
    assert [line.split('"')[1] for line in (published.path / "applied.jsonl").read_text().splitlines()] == ["a.osc", "b.csv"]
    assert RunFacts.of(published).graph.state.number == 2
    with pytest.raises(BadConfig, match="edges were changed since the extract was read, which its changes would undo"):
        change(tmp_path / "out", written(tmp_path / "c.osc", [node(2, 5)]))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<osmChange><erase/></osmChange>", r"a.osc: line 1: 'erase' is not one of create, modify, delete"),
        ("<osmChange><modify><node id='1'/></modify></osmChange>", "line 1: node 1: lon .* is not in -180..180 degrees"),
        ("<osmChange><create><way id='x'/></create></osmChange>", "line 1: a <way> has id 'x', which is not an integer"),
        ("<osmChange><create>", "is not XML: no element found"),
        ("<osmChange><delete><node id='1' timestamp='now'/></delete></osmChange>", "timestamp 'now' is no time such as"),
    ],
)
def test_a_wrong_file_is_refused_and_leaves_nothing(text, reason, tmp_path):
    before = town(tmp_path)
    (tmp_path / "a.osc").write_text(text)
    with pytest.raises(BadInput, match=reason):
        change(tmp_path / "out", tmp_path / "a.osc")
    assert (tmp_path / "out" / "latest").resolve() == before.path.resolve()


def test_an_extract_must_be_in_order(tmp_path):
    (tmp_path / "town.osm").write_text(
        "<osm><node id='1' lat='0' lon='0'/><node id='2' lat='0' lon='1'/>"
        + "".join(f"<way id='{one}'><nd ref='1'/><nd ref='2'/><tag k='highway' v='road'/></way>" for one in (7, 5))
        + "</osm>"
    )
    run(
        run_config(
            "test",
            graph={"source": str(tmp_path / "town.osm"), "osm": {"profile": "car"}},
            output=tmp_path / "out",
            stages=["wcc"],
        )
    )
    with pytest.raises(BadInput, match=r"way 5 comes behind way 7: changes need an extract in the order of ids \(osmium sort\)"):
        change(tmp_path / "out", written(tmp_path / "a.osc", [node(1, 5)]))


def test_a_graph_of_another_source_has_no_extract(tmp_path):
    (tmp_path / "a.csv").write_text("src,dst\n1,2\n")
    run(run_config("test", graph={"source": str(tmp_path / "a.csv")}, output=tmp_path / "out", stages=["wcc"]))
    with pytest.raises(BadInput, match="has the name of changes of OpenStreetMap, but this graph was not read from an extract"):
        change(tmp_path / "out", written(tmp_path / "a.osc", [node(1, 5)]))


def test_files_that_arrive_are_applied_by_one_run(tmp_path):
    town(tmp_path)
    (tmp_path / "arrivals").mkdir()
    for number in (1, 2):
        written(tmp_path / "arrivals" / f"{number}.osc.gz", [node(2, 3 + number, move=number / 10_000)])
    graph = {"source": str(tmp_path / "town.osm.pbf"), "osm": {"profile": "car"}}
    changes = {"arrivals": str(tmp_path / "arrivals"), "publish": "last"}
    config = run_config("test", graph=graph, output=tmp_path / "out", stages=["wcc", "sssp"], changes=changes)
    published = apply_arrivals(config, None, lambda apply: apply())
    assert RunFacts.of(published).input.roads.updates.files == 2
    assert apply_arrivals(config, None, lambda apply: apply()).path == published.path


def test_the_command_says_what_was_changed(tmp_path):
    town(tmp_path)
    file = written(tmp_path / "a.osc.gz", [node(2, 4, move=1e-4), way(20, [], 4, gone=True)])
    said = graphmill("change", tmp_path / "out", file).stdout
    assert (
        "changes              1 file since the extract: 1 node and 0 ways put, 1 element deleted, up to 2026-11-01T00:00:00Z"
        in said
    )


def restriction(version, kind, gone=False):
    members = [] if gone else [("w", 10, "from"), ("n", 2, "via"), ("w", 20, "to")]
    tags = {} if gone else {"type": "restriction", "restriction": kind}
    return mutable.Relation(id=5, version=version, visible=not gone, members=members, tags=tags)


def test_restrictions_are_those_of_the_updated_extract(tmp_path):
    """A graph whose stages respect restrictions must have those of the changes."""
    streets = [*(node(one, 1) for one in (1, 2, 3, 14)), way(10, [1, 2]), way(20, [2, 3]), way(30, [2, 14])]
    first_run(tmp_path, [*streets, restriction(1, "no_straight_on")], sources=[1])
    changed = restriction(2, "only_straight_on"), restriction(3, "", gone=True)
    files = [written(tmp_path / f"{number}.osc", [one]) for number, one in enumerate(changed)]
    for number, file in enumerate(files, 1):
        published = change(tmp_path / "out", file)
        (tmp_path / str(number)).mkdir()
        rebuilt = updated(tmp_path / str(number) / "town.osm.pbf", tmp_path / "town.osm.pbf", *files[:number])
        graph = {"source": str(rebuilt), "osm": {"profile": "car"}}
        due = run(run_config("test", graph=graph, output=tmp_path / "due", stages=["wcc", "sssp"], sources=[1]))
        assert contents(published.path) == contents(due.path)
    assert RunFacts.of(published).input.roads.updates.deleted == 1
