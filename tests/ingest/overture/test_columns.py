"""Columns of segments have many types for the same values; what a file has wrong in them, or lacks, is said with its row."""

import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.errors import BadInput
from pipeline.store.facts import EdgeFacts
from tests.ingest.overture.segments import SCHEMA, access, limit, line, read, segment
from tests.ingest.overture.test_cutting import files_of
from tests.ingest.overture.test_segments import LINE

TURN = {"sequence": [{"connector_id": "b", "segment_id": "s"}], "final_heading": "backward"}
AB = [("a", 0), ("b", 1)]
RULED = segment(
    "s", LINE, AB, name="Allee", access_restrictions=[access("denied", [0.2, 0.8], mode=["car"], heading="forward")],
    speed_limits=[limit(30, between=[0.5, 1.0])], road_flags=[{"values": ["is_bridge"], "between": [0.1, 0.2]}],
)  # fmt: skip
PLAIN = segment("t", [LINE[-1], (0.004, 0.001)], [("b", 0), ("c", 1)], prohibited_transitions=[TURN])
RAIL = segment("r", LINE, [], subtype="rail") | {"connectors": None}
ROWS = [RULED, RAIL, PLAIN]


def stored(tmp_path, table, name="other"):
    pq.write_table(table, tmp_path / f"{name}.parquet")
    return read(tmp_path / f"{name}.parquet", tmp_path / name)


def same(tmp_path, table, rows):
    """Whether the files and facts of a table are those of rows with Overture's schema."""
    made = [stored(tmp_path, table), stored(tmp_path, pa.Table.from_pylist(rows, SCHEMA), "plain")]
    facts = [EdgeFacts.of(edges).roads.stored() | {"seconds": 0} for edges in made]
    return files_of(made[0]) == files_of(made[1]) and facts[0] == facts[1]


@pytest.mark.parametrize("name", [name for name in SCHEMA.names if name not in ("id", "geometry", "subtype", "class")])
def test_a_column_of_the_type_null_is_one_of_nulls(name, tmp_path):
    rows = [row | {name: None} for row in ROWS]
    table = pa.Table.from_pylist(rows, SCHEMA)
    assert same(tmp_path, table.set_column(SCHEMA.get_field_index(name), name, pa.nulls(len(rows))), rows)


def test_fields_of_the_type_null_are_some_of_nulls(tmp_path):
    bare = {"names": {"primary": None}, "prohibited_transitions": [], "speed_limits": [limit(30)], "access_restrictions": []}
    rows = [segment(name, LINE, AB) | bare for name in ("s", "t")]
    assert same(tmp_path, pa.Table.from_pylist(rows), rows)  # as pyarrow infers the types


def in_types(kind, text, listing):
    """A type with others for its texts and lists."""
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, in_types(field.type, text, listing)) for field in kind])
    if pa.types.is_list(kind):
        return listing(in_types(kind.value_type, text, listing))
    return text if pa.types.is_string(kind) else kind


@pytest.mark.parametrize("text", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())], ids=str)
@pytest.mark.parametrize("listing", [pa.list_, pa.large_list, pa.list_view, pa.large_list_view])
def test_other_types_have_the_same_values(text, listing, tmp_path):
    schema = pa.schema([(field.name, in_types(field.type, text, listing)) for field in SCHEMA])
    assert same(tmp_path, pa.Table.from_pylist(ROWS, schema), ROWS)


@pytest.mark.parametrize("kind", [pa.string_view(), pa.json_(), pa.binary_view()], ids=str)
def test_views_and_extensions_have_the_same_values(kind, tmp_path):
    plain = pa.Table.from_pylist(ROWS, SCHEMA)
    of = pa.binary() if kind == pa.binary_view() else pa.string()
    schema = pa.schema([(field.name, kind if field.type == of else field.type) for field in SCHEMA])
    assert same(tmp_path, plain.cast(schema), ROWS)


def test_lists_of_a_fixed_size_have_the_same_values(tmp_path):
    between, two = pa.list_(pa.float64(), 2), pa.struct([("connector_id", pa.string()), ("at", pa.float64())])
    speed = pa.struct([("max_speed", SCHEMA.field("speed_limits").type.value_type.field("max_speed").type), ("between", between)])
    fixed = {"connectors": pa.list_(two, 2), "speed_limits": pa.list_(speed, 1)}
    schema = pa.schema([(field.name, fixed.get(field.name, field.type)) for field in SCHEMA])
    assert same(tmp_path, pa.Table.from_pylist(ROWS, schema), ROWS)


TEXT, TEXTS = pa.string(), pa.list_(pa.string())


def listed(fields):
    return pa.list_(pa.struct(fields))


WRONG_TYPES = [
    ("id", pa.int64(), "no texts in id but int64"),
    ("geometry", TEXT, "no bytes in geometry but string"),
    ("subtype", pa.struct([("a", TEXT)]), "no texts in subtype but struct<a: string>"),
    ("connectors", TEXT, "no lists in connectors but string"),
    ("connectors", TEXTS, "no fields in connectors but string"),
    ("connectors", listed([("connector_id", TEXT)]), "no field connectors.at"),
    ("connectors", listed([("connector_id", pa.int32()), ("at", pa.float64())]), "no texts in connectors.connector_id"),
    ("names", TEXT, "no fields in names but string"),
    ("names", pa.struct([("primary", pa.binary())]), "no texts in names.primary but binary"),
    ("speed_limits", listed([("max_speed", pa.int32())]), "no fields in speed_limits.max_speed but int32"),
    ("speed_limits", listed([("max_speed", pa.struct([("value", pa.int32())]))]), "no field speed_limits.max_speed.unit"),
    ("road_flags", listed([("values", TEXT)]), "no lists in road_flags.values but string"),
    ("road_surface", listed([("between", TEXTS)]), "no numbers in road_surface.between but string"),
    ("access_restrictions", listed([("when", TEXT)]), "no fields in access_restrictions.when but string"),
    ("prohibited_transitions", listed([("sequence", TEXTS)]), "no fields in prohibited_transitions.sequence but string"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "kind", "reason"), WRONG_TYPES, ids=[f"{name}-{kind}" for name, kind, _ in WRONG_TYPES])
def test_a_column_of_another_type_is_refused(name, kind, reason, tmp_path):
    """Whether or not it has values, for the reason that a user can mend; a message has no row, since all of them are wrong."""
    table = pa.Table.from_pylist(ROWS, SCHEMA)
    with pytest.raises(BadInput, match=f"other.parquet: has {re.escape(reason)}.*, (which segments of|unlike) Overture"):
        stored(tmp_path, table.set_column(SCHEMA.get_field_index(name), name, pa.nulls(len(ROWS), kind)))


def test_a_column_that_is_there_twice_is_refused(tmp_path):
    table = pa.Table.from_pylist(ROWS, SCHEMA)
    with pytest.raises(BadInput, match="has several columns 'id'"):
        stored(tmp_path, table.append_column("id", table["id"]))
    names = pa.StructArray.from_arrays([pa.array(["a"] * 3)] * 2, ["primary", "primary"])
    with pytest.raises(BadInput, match=r"has 2 fields names.primary"):
        stored(tmp_path, table.set_column(SCHEMA.get_field_index("names"), "names", names))


def test_numbers_of_any_width_have_the_same_values(tmp_path):
    rows = [segment("s", LINE, AB, speed_limits=[limit(30)]), segment("t", LINE, AB, speed_limits=[limit(50, "mph", [0, 1])])]
    speed = pa.struct([("value", pa.uint8()), ("unit", pa.string())])
    speeds = pa.list_(pa.struct([("max_speed", speed), ("between", pa.list_(pa.int16()))]))
    joined = pa.list_(pa.struct([("connector_id", pa.string()), ("at", pa.float32())]))
    kinds = {"speed_limits": speeds, "connectors": joined}
    schema = pa.schema([(field.name, kinds.get(field.name, field.type)) for field in SCHEMA])
    assert same(tmp_path, pa.Table.from_pylist(rows, schema), rows)


LISTS = ("access_restrictions", "speed_limits", "road_surface", "road_flags", "subclass_rules")


def refused(tmp_path, changed, reason):
    with pytest.raises(BadInput, match=reason):
        stored(tmp_path, pa.Table.from_pylist([RAIL, PLAIN, RULED | changed], SCHEMA))


@pytest.mark.parametrize("name", LISTS)
def test_a_range_without_ends_is_refused(name, tmp_path):
    changed = dict.fromkeys(LISTS) | {name: [{"between": []}]}
    refused(tmp_path, changed, rf"row 2: segment s: {name} has a rule between \[\], expected two shares")


@pytest.mark.parametrize("between", [None, [0.2, 0.5]])
@pytest.mark.parametrize("name", LISTS)
def test_a_rule_that_is_null_is_refused(name, between, tmp_path):
    other = "road_flags" if name != "road_flags" else "road_surface"
    changed = dict.fromkeys(LISTS) | {name: [None], other: [{"between": between}]}
    refused(tmp_path, changed, f"row 2: segment s: {name} has a rule that is null")


@pytest.mark.parametrize("wrong", [None, TURN | {"sequence": [None]}])
def test_a_null_in_transitions_is_refused(wrong, tmp_path):
    refused(tmp_path, {"prohibited_transitions": [wrong]}, "row 2: segment s: prohibited_transitions has a null")


@pytest.mark.parametrize(
    ("geometry", "reason"), [(b"zz", "row 2: geometry is not a line"), (line((0, 0), (200, 0)), r"row 2: geometry has the point")]
)
def test_a_wrong_line_is_named_by_its_row_in_the_file(geometry, reason, tmp_path):
    refused(tmp_path, {"geometry": geometry}, reason)


@pytest.mark.parametrize(
    ("rows", "left"),
    [
        ([], "0"),
        ([RAIL], "subtype=rail 1"),
        ([PLAIN | {"class": "steps"}, RAIL], "class=steps 1, subtype=rail 1"),
        ([PLAIN | {"class": None}], "no class 1"),
        ([RULED | {"access_restrictions": [access("denied")]}], "access 1"),
    ],
)
def test_a_file_without_streets_is_refused(rows, left, tmp_path):
    with pytest.raises(BadInput, match=f"has no street for profile car; segments that are none: {left}$"):
        stored(tmp_path, pa.Table.from_pylist(rows, SCHEMA))


def test_a_file_of_nothing_but_islands_is_refused(tmp_path):
    pq.write_table(pa.Table.from_pylist(ROWS, SCHEMA), tmp_path / "a.parquet")
    with pytest.raises(BadInput, match="but islands of fewer than 100 vertices"):
        read(tmp_path / "a.parquet", tmp_path / "work", islands=100)
