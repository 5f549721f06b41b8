"""Wrong answers that the proof of places on streets refuses."""

import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from pipeline.config.graph import GraphConfig
from pipeline.config.model import Snap
from pipeline.errors import ProofFailed
from pipeline.ingest import ingest
from pipeline.steps.attaching import FEET, STEP
from pipeline.steps.attaching.points import GivenPoints
from pipeline.steps.attaching.proof import prove
from pipeline.steps.attaching.step import attach_places
from pipeline.steps.runtime import Runtime
from pipeline.store.facts import EdgeFacts
from pipeline.store.manifest import Folder, unsealed
from pipeline.tables.points import COORDINATES
from pipeline.tables.streets import STREETS
from tests.ingest.osm.extracts import write
from tests.pipeline.places import test_streets
from tests.pipeline.places.test_straight_streets import PLACES as OTHERS
from tests.pipeline.places.test_straight_streets import graph

SNAP = Snap(3000)
ARCS = "part-00000.parquet"


@pytest.fixture(scope="module", params=["openstreetmap", "straight"])
def attached(request, tmp_path_factory):
    """An edge list, the same with places on its streets, and a function that proves the second with some tables changed."""
    folder, places = tmp_path_factory.mktemp("p"), test_streets.PLACES
    described = {"osm": {"profile": "car"}}
    if request.param == "straight":
        places, described = OTHERS, graph(folder)
    else:
        described["source"] = str(write(folder / "b.osm.pbf", test_streets.NODES, test_streets.WAYS))
    edges = ingest(GraphConfig.model_validate(described), folder)
    points = GivenPoints([(np.array([*places.values()]), str)])
    made = attach_places(edges, points, Runtime(folder, snap=SNAP))

    def proved(**tables):
        changed = folder / "changed"
        shutil.rmtree(changed, ignore_errors=True)
        shutil.copytree(made.path, changed)
        facts = EdgeFacts.of(made)
        for name, table in tables.items():
            path = {"feet": FEET, "streets": STREETS, "coordinates": COORDINATES, "arcs": ARCS}[name]
            pq.write_table(table, changed / path)
            facts = facts.model_copy(update={"edges": len(table)}) if name == "arcs" else facts
        manifest = replace(unsealed(STEP, facts.stored()), files=made.manifest.files)
        return prove(edges, Folder(changed, manifest), points.places, SNAP)

    return made, proved


def read(made, name):
    return pq.read_table(made.path / name)


def with_value(table, name, row, value):
    """The table with another value in a row; `value` is a function of the one that was there."""
    values = table[name].to_pylist()
    values[row] = value(values[row])
    at = table.schema.get_field_index(name)
    return table.set_column(at, table.schema.field(at), pa.array(values, table.schema.field(at).type))


def test_what_was_attached_is_proved(attached):
    made, proved = attached
    assert len(EdgeFacts.of(made).attached.rules) == len(proved().rules) == 4


def test_each_value_of_feet_arcs_and_coordinates_counts(attached):
    made, proved = attached
    feet, arcs, coordinates = (read(made, name) for name in (FEET, ARCS, COORDINATES))
    for row in range(len(feet)):
        for name in ("vertex", "street", "src", "dst", "offset", "length"):
            for step in (-3, 3) if name == "offset" else (-1, 1):
                with pytest.raises(ProofFailed):
                    proved(feet=with_value(feet, name, row, lambda value, step=step: abs(value + step)))
        for name, step in (("lon", 1e-5), ("lat", 1e-5), ("metres", 0.1), ("metres", -0.1)):
            with pytest.raises(ProofFailed):
                proved(feet=with_value(feet, name, row, lambda value, step=step: value + step))
    for row in range(len(arcs)):
        with pytest.raises(ProofFailed):
            proved(arcs=pa.concat_tables([arcs.slice(0, row), arcs.slice(row + 1)]))
        for name in ("src", "dst", "weight"):
            with pytest.raises(ProofFailed):
                proved(arcs=with_value(arcs, name, row, lambda value: value + 1))
    for row in range(len(coordinates)):
        for name in ("vertex", "x", "y"):
            with pytest.raises(ProofFailed):
                proved(
                    coordinates=with_value(
                        coordinates, name, row, lambda value, step=1 if name == "vertex" else 1e-5: value + step
                    )
                )


def test_each_value_of_streets_counts(attached):
    made, proved = attached
    if STREETS not in made.manifest.files:
        return
    streets, arcs = read(made, STREETS), read(made, ARCS)
    for row in range(len(streets)):
        for name in ("src", "dst", "forward", "backward", "way", "length"):
            with pytest.raises(ProofFailed):
                proved(streets=with_value(streets, name, row, lambda value: 7 if value is None else value + 1))
        for name in ("class", "name"):
            with pytest.raises(ProofFailed):
                proved(streets=with_value(streets, name, row, lambda value: f"{value}x"))
        for moved in (lambda points: [points[0] + 1, *points[1:]], lambda points: points[2:] or [1], lambda points: points[::-1]):
            with pytest.raises(ProofFailed):
                proved(streets=with_value(streets, "points", row, moved))
    # A second of one part's weight in the next one, in streets and arcs alike: the sum stays.
    parts = np.flatnonzero(pc.equal(streets["way"], 10).to_numpy())[:2].tolist()
    for row, step in zip(parts, (1000, -1000), strict=True):
        old = streets["forward"][row].as_py()
        pair = pc.and_(pc.equal(arcs["src"], streets["src"][row]), pc.equal(arcs["dst"], streets["dst"][row]))
        at = int(np.flatnonzero(pair.to_numpy())[0])
        assert arcs["weight"][at].as_py() == old
        streets, arcs = (with_value(*which, lambda value, step=step: value + step) for which in
                         ((streets, "forward", row), (arcs, "weight", at)))  # fmt: skip
    with pytest.raises(ProofFailed, match="not in proportion"):
        proved(streets=streets, arcs=arcs)


def test_a_place_on_another_street_than_the_nearest_is_refused(tmp_path, monkeypatch):
    """All files agree with each other, but the attacher did not look at the nearest street."""
    from pipeline.steps.attaching import step

    edges = ingest(GraphConfig.model_validate(graph(tmp_path)), tmp_path)
    points = GivenPoints([(np.array([*OTHERS.values()]), str)])
    whole = step.segments
    monkeypatch.setattr(step, "segments", lambda lines, chosen: whole(lines, chosen)[1:])
    with pytest.raises(ProofFailed, match="a street is nearer to the place of row"):
        attach_places(edges, points, Runtime(tmp_path, snap=SNAP))
    assert not (tmp_path / STEP).exists()
