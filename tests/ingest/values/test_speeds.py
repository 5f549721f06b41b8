"""Travel times from lengths and speeds: those of a plain reader with fractions, from CSV and from Parquet."""

import csv
import random
from fractions import Fraction

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.config.effects import require_effect
from pipeline.config.graph import GraphConfig
from pipeline.config.loading import checked
from pipeline.config.run import RunConfig
from pipeline.errors import BadConfig, BadInput
from pipeline.ingest import ingest
from pipeline.store.facts import EdgeFacts
from tests.edge_lists import rows_of_edges

KMH, MPH, KNOTS = Fraction(1000, 3600), Fraction(1609344, 3600000), Fraction(1852, 3600)
# What OpenStreetMap, OSMnx and pandas write, and the metres per second that it means; None: the default.
WRITTEN = {
    "50": 50 * KMH, "50.0": 50 * KMH, "7.5": Fraction("7.5") * KMH, "50 km/h": 50 * KMH, "50km/h": 50 * KMH, "30 mph": 30 * MPH,
    "30mph": 30 * MPH, "30 MPH": 30 * MPH, "5 knots": 5 * KNOTS, "10 m/s": Fraction(10), "50;30": 30 * KMH, "50; 30": 30 * KMH,
    "30|80": 30 * KMH, "30 mph;50": 30 * MPH, "20 mph;50": 20 * MPH, "['50', '30']": 30 * KMH, '["80", "100"]': 80 * KMH,
    "[50.0, 30.0]": 30 * KMH, "['40 mph', '60']": 60 * KMH, "50;none": 50 * KMH,
    "43.27777777777778": Fraction("43.27777777777778") * KMH, "": None, "none": None, "walk": None, "signals": None,
    "RU:urban": None, "DE:zone:30": None, "BE-VLG:rural": None,
    "nan": None, "['none', 'walk']": None,
}  # fmt: skip
REFUSED = ("0", "-50", "5O", "50,30", "50 furlongs", "1e999999999", "1e-999999999", "inf", "0.001", "['50' '30']", "[['50']]")
DEFAULT = Fraction("32.5") * KMH
METRES = {"m": 1, "km": 1000, "mi": Fraction("1609.344"), "ft": Fraction("0.3048")}


def milliseconds(length, speed, unit="m"):
    """Python rounds a fraction half to even."""
    return round(1000 * Fraction(length) * METRES[unit] / (DEFAULT if WRITTEN[speed] is None else WRITTEN[speed]))


def configured(path, **keys):
    columns = {"weight": "length", "speed": "maxspeed"}
    return GraphConfig.model_validate({"source": str(path), "columns": columns, "speed": {"default": 32.5}} | keys)


def lengths_at_random(draw):
    yield from ("0", "0.0", "12.5", "1e3", "1000000000", "0.0005", "9.00000000000000000001", "1.25e-2", "999999999.999")
    for _ in range(200):
        yield draw.choice([f"{draw.uniform(0, 2000)}", f"{draw.uniform(0, 99):.1f}", f"{draw.randrange(400) / 8}"])


@pytest.mark.parametrize("unit", METRES)
def test_times_are_those_of_fractions(unit, tmp_path):
    draw = random.Random(unit)
    rows = [(place, place + 1, length, draw.choice([*WRITTEN])) for place, length in enumerate(lengths_at_random(draw))]
    with (tmp_path / "g.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("src", "dst", "length", "maxspeed"), *rows])
    edges = ingest(configured(tmp_path / "g.csv", speed={"default": 32.5, "length_unit": unit}), tmp_path / "work")
    assert rows_of_edges(edges)["weight"].to_pylist() == [milliseconds(length, speed, unit) for *_, length, speed in rows]
    facts = EdgeFacts.of(edges)
    assert (facts.weight, facts.measure) == ("int64", "milliseconds (travel time)")
    assert facts.travel_times.by_default == sum(WRITTEN[speed] is None for *_, speed in rows)
    assert (facts.travel_times.rows, facts.travel_times.length_unit) == (len(rows), unit)
    assert facts.travel_times.rounding == "half to even, to whole milliseconds"


def test_halves_are_rounded_to_even(tmp_path):
    # At 80 km/h a metre takes 45 ms: 0.1 m 4.5 ms, 0.3 m 13.5 ms, and a little more or less than a half is none.
    lengths = ["0.1", "0.3", "0.30000000000000000001", "0.29999999999999999999", "100000000.1"]
    (tmp_path / "g.csv").write_text("src,dst,length,maxspeed\n" + "".join(f"1,2,{length},80\n" for length in lengths))
    edges = ingest(configured(tmp_path / "g.csv"), tmp_path / "work")
    assert rows_of_edges(edges)["weight"].to_pylist() == [4, 14, 14, 13, 4500000004]


@pytest.mark.parametrize(
    ("kind", "speeds"),
    [(pa.string(), [*WRITTEN]), (pa.float64(), ["50", "7.5", "43.27777777777778", ""]), (pa.int16(), ["50", ""])],
)
def test_parquet_says_the_same_as_csv(kind, speeds, tmp_path):
    draw = random.Random(1)
    rows = [(place, place + 1, draw.choice([0.1, 0.3, 12.5, 1e-7, draw.random()]), draw.choice(speeds)) for place in range(90)]
    columns = [*zip(*rows, strict=True)]
    values = [None if not speed else speed if kind == pa.string() else float(speed) for speed in columns[3]]
    typed = pa.array(values).cast(kind) if kind != pa.string() else pa.array(values, kind)
    pq.write_table(
        pa.table([*map(pa.array, columns[:3]), typed], ["src", "dst", "length", "maxspeed"]),
        tmp_path / "g.parquet",
        row_group_size=20,
    )
    edges = ingest(configured(tmp_path / "g.parquet"), tmp_path / "work")
    assert rows_of_edges(edges)["weight"].to_pylist() == [milliseconds(str(length), speed) for *_, length, speed in rows]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("value", [*REFUSED, "1" * 201, "['50'," * 30])
def test_what_is_no_speed_is_refused(value, suffix, tmp_path):
    frame = pd.DataFrame({"src": [1, 2], "dst": [2, 3], "length": [5, 5], "maxspeed": ["50", value]})
    frame.to_csv(tmp_path / "g.csv", index=False)
    frame.to_parquet(tmp_path / "g.parquet")
    with pytest.raises(BadInput, match=r"(line 3|row 1): speed .* is (not|longer)"):
        ingest(configured(tmp_path / f"g.{suffix}"), tmp_path / "work")


@pytest.mark.parametrize("value", [value for value, speed in WRITTEN.items() if speed is None])
def test_without_a_default_each_row_states_a_speed(value, tmp_path):
    pd.DataFrame({"src": [1, 2], "dst": [2, 3], "length": [5, 5], "maxspeed": ["50", value]}).to_csv(tmp_path / "g.csv")
    reason = r"line 3: speed .* states no speed; \[graph.speed\] default states"
    with pytest.raises(BadInput, match=reason):
        ingest(configured(tmp_path / "g.csv", speed={}), tmp_path / "work")


@pytest.mark.parametrize("length", ["", "-1", "0.1" + "0" * 10**5, "1000000000.1", "x", "1e400", "nan", "1,5"])
def test_a_wrong_length_is_refused(length, tmp_path):
    (tmp_path / "g.csv").write_text(f'src,dst,length,maxspeed\n1,2,3,50\n2,3,"{length}",50\n')
    with pytest.raises(BadInput, match=r"line 3: weight '.*' is (not|absent|longer)"):
        ingest(configured(tmp_path / "g.csv"), tmp_path / "work")


def test_forms_of_numbers_directions_and_bad_rows(tmp_path):
    (tmp_path / "g.csv").write_text(
        "a;b;length;maxspeed;oneway\nx;y;1.000,5;7,2;-1\ny;z;+36;'72';yes\nz;x;.;36;no\nz;x;36;NA;no\nx;x;,5;36;no\n"
    )
    columns = {"src": "a", "dst": "b", "weight": "length", "speed": "maxspeed", "oneway": "oneway"}
    forms = {"delimiter": ";", "decimal": ",", "thousands": ".", "null": ["NA"]}
    edges = ingest(configured(tmp_path / "g.csv", columns=columns, **forms), tmp_path / "work", reject=0.5)
    times = {"src": [1, 2, 0, 0, 0], "dst": [0, 0, 2, 0, 0], "weight": [500250, 3988, 3988, 50, 50]}
    assert rows_of_edges(edges).to_pydict() == times
    facts = EdgeFacts.of(edges)
    assert (facts.rejected.rows, facts.travel_times.rows, facts.travel_times.by_default) == (2, 3, 1)


def test_units(tmp_path):
    (tmp_path / "g.tsv").write_text("src\tdst\tlength\tmaxspeed\n1\t2\t1\t60\n2\t3\t1\t60 km/h\n3\t4\t1\t\n")
    speed = {"unit": "mph", "length_unit": "mi", "default": 30}
    edges = ingest(configured(tmp_path / "g.tsv", speed=speed), tmp_path / "work")
    assert rows_of_edges(edges)["weight"].to_pylist() == [60_000, 96_561, 120_000]
    named = configured(tmp_path / "g.tsv", speed=speed, weight={"name": "drive"})
    assert EdgeFacts.of(ingest(named, tmp_path / "other")).measure == "milliseconds (drive)"


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        ({"columns": {"speed": "maxspeed", "weight": False}}, "speed needs lengths"),
        ({"columns": {"speed": "maxspeed", "reverse_weight": "back"}}, "reverse_weight: has no effect"),
        ({"columns": {"speed": "weight"}}, "must be different columns"),
        ({"columns": {"speed": "maxspeed"}, "weight": {"unit": "seconds"}}, "graph.weight.unit: has no effect"),
        ({"speed": {"unit": "mph"}}, "graph.speed.unit: has no effect"),
        ({"columns": {"speed": "maxspeed"}, "speed": {"default": 0}}, "greater than or equal"),
    ],
)
def test_keys_that_contradict_each_other(graph, reason, tmp_path):
    with pytest.raises(BadConfig, match=reason):
        require_effect("run", checked(RunConfig, "run", graph={"source": "g.csv"} | graph, output=tmp_path))


def test_a_speed_needs_a_column_of_lengths(tmp_path):
    (tmp_path / "g.csv").write_text("src,dst,length,maxspeed\n1,2,3,50\n")
    with pytest.raises(BadInput, match="no column of lengths"):
        ingest(configured(tmp_path / "g.csv", columns={"speed": "maxspeed"}), tmp_path / "work")
    (tmp_path / "g.txt").write_text("# edges\n1 2 3\n")
    with pytest.raises(BadInput, match="speed apply to CSV, TSV and Parquet"):
        ingest(configured(tmp_path / "g.txt", columns={"speed": "3"}), tmp_path / "work")
