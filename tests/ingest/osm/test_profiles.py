"""What the built-in profiles, and those that keys change, say of tags."""

import pytest

from pipeline.config.roads import OsmConfig
from pipeline.ingest.roads.profile import PER_KMH, Profile, Street

SIDES = {"both": (True, True), "forward": (True, False), "backward": (False, True)}


def judged(tags, profile="car", **keys):
    """The directions and the speed along the way in km/h, or why it is no street; tags as `highway=x oneway=yes`."""
    words = dict(tag.split("=", 1) for tag in tags.split()) if isinstance(tags, str) else tags
    verdict = Profile(OsmConfig(profile=profile, **keys)).judge(words)
    if isinstance(verdict, str):
        return verdict
    side = next(name for name, open_ in SIDES.items() if open_ == (verdict.forward > 0, verdict.backward > 0))
    return side, round((verdict.forward or verdict.backward) / PER_KMH, 3)


@pytest.mark.parametrize(
    ("tags", "car", "bicycle", "foot"),
    [
        ("highway=residential", ("both", 25), ("both", 15), ("both", 5)),
        ("highway=motorway", ("forward", 90), "highway=motorway", "highway=motorway"),
        ("highway=motorway oneway=no", ("both", 90), "highway=motorway", "highway=motorway"),
        ("highway=primary oneway=yes", ("forward", 65), ("forward", 15), ("both", 5)),
        ("highway=primary oneway=-1", ("backward", 65), ("backward", 15), ("both", 5)),
        ("highway=primary oneway=alternating", ("both", 65), ("both", 15), ("both", 5)),
        ("highway=primary oneway=reversible", "oneway=reversible", "oneway=reversible", ("both", 5)),
        ("highway=primary oneway=yes oneway:bicycle=no", ("forward", 65), ("both", 15), ("both", 5)),
        ("highway=primary oneway=yes cycleway=opposite_lane", ("forward", 65), ("both", 15), ("both", 5)),
        ("highway=primary oneway=yes cycleway:left=opposite_track", ("forward", 65), ("both", 15), ("both", 5)),
        ("highway=tertiary junction=roundabout", ("forward", 40), ("forward", 15), ("both", 5)),
        ("highway=trunk motorroad=yes", ("both", 85), "motorroad=yes", "motorroad=yes"),
        ("highway=service area=yes", "area=yes", "area=yes", ("both", 5)),
        ("highway=residential access=no", "access", "access", "access"),
        ("highway=residential access=no bicycle=yes", "access", ("both", 15), "access"),
        ("highway=residential access=private motor_vehicle=yes", ("both", 25), "access", "access"),
        ("highway=residential motor_vehicle=no", "access", ("both", 15), ("both", 5)),
        ("highway=residential motor_vehicle=no motorcar=destination", ("both", 25), ("both", 15), ("both", 5)),
        ("highway=residential motor_vehicle=what", ("both", 25), ("both", 15), ("both", 5)),
        ("highway=residential motorcar:backward=no", ("forward", 25), ("both", 15), ("both", 5)),
        ("highway=residential vehicle:forward=no", ("backward", 25), ("backward", 15), ("both", 5)),
        ("highway=footway", "highway=footway", "access", ("both", 5)),
        ("highway=footway bicycle=yes", "highway=footway", ("both", 12), ("both", 5)),
        ("highway=cycleway", "highway=cycleway", ("both", 15), "access"),
        ("highway=cycleway foot=designated", "highway=cycleway", ("both", 15), ("both", 5)),
        ("highway=steps", "highway=steps", "highway=steps", ("both", 3)),
        ("highway=footway access=permissive", "highway=footway", "access", ("both", 5)),
        ("highway=cycleway access=yes", "highway=cycleway", ("both", 15), "access"),
        ("highway=path motor_vehicle=designated", ("both", 10), ("both", 12), ("both", 5)),
        ("highway=path access=yes", "highway=path", ("both", 12), ("both", 5)),
        ("highway=pedestrian motor_vehicle=destination oneway=yes", ("forward", 10), "access", ("both", 5)),
        ("highway=track access=yes", ("both", 10), ("both", 12), ("both", 5)),
        ("highway=track access=yes motor_vehicle=forestry", "highway=track", ("both", 12), ("both", 5)),
        ("highway=steps bicycle=yes", "highway=steps", ("both", 2), ("both", 3)),
        ("highway=track surface=gravel", "highway=track", ("both", 6), ("both", 5)),
        ("highway=residential surface=sand", ("both", 20), ("both", 3), ("both", 3)),
        ("highway=residential surface=asphalt", ("both", 25), ("both", 15), ("both", 5)),
        ("route=ferry", "access", ("both", 5), ("both", 5)),
        ("route=ferry motorcar=yes", ("both", 5), ("both", 5), ("both", 5)),
        ("route=bus", "no highway and no ferry", "no highway and no ferry", "no highway and no ferry"),
        ("highway=crossing", "another value of highway", "another value of highway", "another value of highway"),
    ],
)
def test_the_profiles_say_who_may_travel_where(tags, car, bicycle, foot):
    assert [judged(tags, profile) for profile in ("car", "bicycle", "foot")] == [car, bicycle, foot]


@pytest.mark.parametrize(
    ("limit", "speed"),
    [
        ("30", 30), ("30 mph", 48.28), ("30mph", 48.28), ("10 knots", 18.52), ("36 km/h", 36), ("50;30", 30), ("walk", 6),
        ("none", 140), ("DE:urban", 50), ("DE:rural", 100), ("DE:motorway", 140), ("RU:urban", 60), ("GB:nsl_single", 96.561),
        ("DE:zone:30", 30), ("FR:zone30", 30), ("DE:30", 30), ("GB:zone20", 32.187), ("DE:living_street", 6), ("signals", 65),
        ("XX:urban", 65), ("what", 65), ("", 65), ("0", 65), ("130", 130), ("200", 140), ("-5", 65), ("9" * 300, 65),
    ],
)  # fmt: skip
def test_limits_are_read_with_their_units(limit, speed):
    assert judged({"highway": "primary", "maxspeed": limit}) == ("both", speed)


def test_a_limit_bounds_those_who_are_slower():
    assert judged("highway=primary maxspeed=10", "bicycle") == ("both", 10)
    assert judged("highway=primary maxspeed=50", "bicycle") == ("both", 15)


def test_limits_of_a_direction_and_of_a_type_count():
    street = Profile(OsmConfig(profile="car")).judge({"highway": "primary", "maxspeed": "50", "maxspeed:backward": "30"})
    assert street == Street("primary", 50 * PER_KMH, 30 * PER_KMH)
    assert judged({"highway": "primary", "maxspeed:type": "AT:rural"}) == ("both", 100)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("25", 1500),
        ("0:25", 1500),
        ("1:05", 3900),
        ("00:25:30", 1530),
        ("PT25M", 1500),
        ("PT1H5M", 3900),
        ("about 5", 0),
        ("PT", 0),
    ],
)
def test_a_ferry_states_its_duration(text, seconds):
    assert Profile(OsmConfig(profile="foot")).judge({"route": "ferry", "duration": text}).seconds == seconds


@pytest.mark.parametrize(
    ("tags", "closed"),
    [
        ({"barrier": "bollard"}, ["car"]), ({"barrier": "gate"}, []),
        ({"barrier": "gate", "access": "private"}, ["car", "bicycle", "foot"]),
        ({"barrier": "gate", "locked": "yes"}, ["car", "bicycle", "foot"]), ({"barrier": "bollard", "motor_vehicle": "yes"}, []),
        ({"barrier": "stile"}, ["car", "bicycle"]), ({"barrier": "wall"}, ["car", "bicycle", "foot"]), ({"access": "no"}, []),
        ({"barrier": "gate", "access": "no", "foot": "yes"}, ["car", "bicycle"]),
    ],
)  # fmt: skip
def test_barriers_close_nodes(tags, closed):
    assert [profile for profile in ("car", "bicycle", "foot") if Profile(OsmConfig(profile=profile)).closes(tags)] == closed


def test_keys_change_single_rules():
    assert judged("highway=service", speeds={"service": 0, "track": 10}) == "highway=service"
    assert judged("highway=track", speeds={"service": 0, "track": 10}) == ("both", 10)
    assert judged("highway=primary surface=gravel", surfaces={"gravel": 5.5}) == ("both", 5.5)
    assert judged("highway=motorway maxspeed=120", fastest=80) == ("forward", 80)
    assert judged({"highway": "primary", "maxspeed": "DE:rural"}, zones={"DE:rural": 70}) == ("both", 70)
    assert judged("highway=primary hgv=no") == ("both", 65)
    assert judged("highway=primary hgv=no", access=("access", "vehicle", "motor_vehicle", "hgv")) == "access"
    assert judged("highway=primary access=private", denied=("no",)) == ("both", 65)
    assert not Profile(OsmConfig(profile="car", barriers=())).closes({"barrier": "bollard"})
