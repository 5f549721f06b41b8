"""Segments are cut alike, whether their rules are looked at once for many of them, or for each one."""

import random

import numpy as np
import pyarrow as pa
import pytest

from pipeline.errors import BadInput
from pipeline.ingest.formats.overture.codes import codes_of
from pipeline.store.facts import EdgeFacts
from tests.counts import NIGHTLY
from tests.ingest.overture.segments import SCHEMA, access, limit, read, segment, write
from tests.ingest.overture.test_segments import LINE, random_segments

pytestmark = pytest.mark.sampled
LISTS = ("access_restrictions", "speed_limits", "road_flags", "road_surface", "subclass_rules")


def files_of(edges):
    return {path.name: path.read_bytes() for path in edges.path.iterdir() if not path.name.startswith("_")}


def plain_segments(chosen):
    """Random segments whose rules are for their whole length; some come again, some lie on one place."""
    for number, drawn in enumerate(random_segments(chosen)):
        flags = chosen.choice([None, [{"values": ["is_link"]}], [{"values": ["is_under_construction"]}], []])
        one = drawn | {"road_flags": flags, "subclass": chosen.choice([None, "link", "driveway"])}
        one["access_restrictions"] = chosen.choice([one.get("access_restrictions"), [access("denied", heading="backward")]])
        one["names"] = {"primary": chosen.choice(["A", "B", "", None])} if number % 3 else None
        one["subtype"] = chosen.choice(["road"] * 9 + ["rail"])
        joined = one["connectors"]
        one["connectors"] = chosen.choice([joined, joined[::-1], joined[:1], joined[1:]])
        for name in LISTS:
            one[name] = [rule | {"between": None} for rule in one[name]] if one.get(name) else one.get(name)
        yield one
        if chosen.random() < 0.1:
            yield one
    point = LINE[0]
    yield segment("point", [point, point], [("c1", 0.0)])
    yield segment("loop", [point, point, point], [("c1", 0.0), ("c2", 1.0)])


@pytest.mark.parametrize("seed", range(100 if NIGHTLY else 6))
@pytest.mark.parametrize("profile", ["car", "foot"])
def test_rules_between_both_ends_are_rules_for_all(seed, profile, tmp_path):
    segments = [*plain_segments(random.Random(seed))]
    ranged = [
        one | {name: [rule | {"between": [0.0, 1.0]} for rule in one[name]] for name in LISTS if one.get(name)}
        for one in segments
    ]
    forms = {"whole": segments, "ranged": ranged}
    made = [read(write(tmp_path / "a.parquet", rows), tmp_path / name, profile=profile) for name, rows in forms.items()]
    whole, parts = (EdgeFacts.of(edges).roads.stored() for edges in made)
    assert files_of(made[0]) == files_of(made[1]) and whole["chains"] > 3
    assert whole | {"seconds": 0} == parts | {"seconds": 0}


def test_a_segment_that_is_a_point_is_no_street(tmp_path):
    rows = [segment("s", LINE, [("a", 0), ("b", 1)]), segment("t", [LINE[0]] * 2, [("a", 0)])]
    for rule in (None, [0.0, 1.0]):
        rows[1]["speed_limits"] = [limit(50, between=rule)]
        assert EdgeFacts.of(read(write(tmp_path / "a.parquet", rows), tmp_path / "w")).roads.ways_left == {"a point": 1}


def test_the_first_wrong_row_is_named(tmp_path):
    wrong = segment("w", LINE, [("a", 0), ("b", 1)], speed_limits=[limit(50, "knots")])
    rows = [segment(f"s{number}", LINE, [("a", 0), ("b", 1)]) for number in range(3)]
    with pytest.raises(BadInput, match=r"row 3: segment w: speed_limits has the unit 'knots'"):
        read(write(tmp_path / "a.parquet", [*rows, wrong, wrong | {"id": "x"}]), tmp_path / "w")


@pytest.mark.parametrize("seed", range(20))
def test_numbers_are_the_same_if_and_only_if_values_are(seed):
    chosen = random.Random(seed)
    rows = [one for _ in range(8) for one in plain_segments(random.Random(chosen.randrange(10)))]
    table = pa.Table.from_pylist(rows, SCHEMA)
    for name in (*LISTS, "connectors", "class", "prohibited_transitions"):
        column = table[name].combine_chunks()[1:]
        texts = [repr(value) for value in column.to_pylist()]
        codes = codes_of(column)
        assert len({*zip(codes.tolist(), texts, strict=True)}) == len({*texts}) == len(np.unique(codes)), name
        assert all((code == -1) == (text == "None") for code, text in zip(codes.tolist(), texts, strict=True))
