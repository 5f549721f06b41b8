"""Columns of segments: the types that they must have, and the same values in plain types.

A file may have dictionaries, lists of a fixed size, or only nulls in place of a type; and more fields than are read.
"""

import pyarrow as pa

from pipeline.errors import BadInput

_TEXT, _TEXTS, _NUMBER = pa.string(), pa.list_(pa.string()), pa.float64()
_BETWEEN = ("between", pa.list_(_NUMBER))
_WHEN = ("when", pa.struct([("heading", _TEXT), ("using", _TEXTS), ("recognized", _TEXTS), ("mode", _TEXTS)]))
_VALUES = pa.list_(pa.struct([("value", _TEXT), _BETWEEN]))
_SPEED = pa.struct([pa.field("value", _NUMBER, nullable=False), pa.field("unit", _TEXT, nullable=False)])
_STEP = pa.struct([pa.field("connector_id", _TEXT, nullable=False), pa.field("segment_id", _TEXT, nullable=False)])
_JOINED = pa.struct([pa.field("connector_id", _TEXT, nullable=False), pa.field("at", _NUMBER, nullable=False)])
LISTS = {
    "access_restrictions": pa.list_(pa.struct([("access_type", _TEXT), _WHEN, _BETWEEN])),
    "speed_limits": pa.list_(pa.struct([("max_speed", _SPEED), _WHEN, _BETWEEN])),
    "road_surface": _VALUES,
    "road_flags": pa.list_(pa.struct([("values", _TEXTS), _BETWEEN])),
    "subclass_rules": _VALUES,
}
_NEEDED = {"id": _TEXT, "geometry": pa.binary(), "subtype": _TEXT, "class": _TEXT, "connectors": pa.list_(_JOINED)}
_MORE = {
    "subclass": _TEXT,
    "names": pa.struct([("primary", _TEXT)]),
    "prohibited_transitions": pa.list_(
        pa.struct([("sequence", pa.list_(_STEP)), ("final_heading", _TEXT), _WHEN, _BETWEEN])
    ),
}  # fmt: skip
READ = _NEEDED | _MORE | LISTS


def require(file: str, schema: pa.Schema) -> None:
    """Check that a file has the columns that segments need, and that what is read of it has the types of Overture's schema.

    Texts, numbers and lists may be of any width. Raises BadInput.
    """
    if missing := [name for name in _NEEDED if name not in schema.names]:
        raise BadInput(file, f"has no column {missing[0]!r}, which segments of Overture have")
    if twice := [name for name in READ if schema.names.count(name) > 1]:
        raise BadInput(file, f"has several columns {twice[0]!r}")
    for field in schema:
        if field.name in READ and (reason := _wrong(field.type, READ[field.name], field.name)):
            raise BadInput(file, reason)


def plain(table: pa.Table) -> pa.Table:
    """A table of segments with the same values in plain types; a column of nulls without a type has the one it should have."""
    for number, field in enumerate(table.schema):
        kind = _plain(field.type, READ.get(field.name))
        if kind != field.type:
            table = table.set_column(number, field.name, table.column(number).cast(kind))
    return table


def _wrong(kind: pa.DataType, stated: pa.DataType, name: str) -> str | None:
    """What is wrong with the type of a column or field; None if it has the stated type, but for widths, or only nulls."""
    types, kind = pa.types, _unwrapped(kind)
    if types.is_struct(stated) and types.is_struct(kind):
        return next((reason for field in stated if (reason := _wrong_field(kind, field, name))), None)
    if types.is_list(stated) and _is_list(kind):
        return _wrong(kind.value_type, stated.value_type, name)
    texts = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    binary = types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind)
    numbers = types.is_integer(kind) or types.is_floating(kind)
    fits = (texts and stated == _TEXT) or (binary and stated == pa.binary()) or (numbers and stated == _NUMBER)
    return None if fits or types.is_null(kind) else f"has no {_expected(stated)} in {name} but {kind}, unlike Overture"


def _wrong_field(kind: pa.DataType, stated: pa.Field, name: str) -> str | None:
    places = kind.get_all_field_indices(stated.name)
    if len(places) > 1:
        return f"has {len(places)} fields {name}.{stated.name}"
    if not places:
        return None if stated.nullable else f"has no field {name}.{stated.name}, which segments of Overture have"
    return _wrong(kind.field(places[0]).type, stated.type, f"{name}.{stated.name}")


def _expected(stated: pa.DataType) -> str:
    named = {_TEXT: "texts", _NUMBER: "numbers", pa.binary(): "bytes"}
    return named.get(stated) or ("fields" if pa.types.is_struct(stated) else "lists")


def _is_list(kind: pa.DataType) -> bool:
    types = pa.types
    views = types.is_list_view(kind) or types.is_large_list_view(kind)
    return bool(views or types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _unwrapped(kind: pa.DataType) -> pa.DataType:
    """The type of values without dictionaries and extensions."""
    while isinstance(kind, pa.BaseExtensionType) or pa.types.is_dictionary(kind):
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind.storage_type
    return kind


def _plain(kind: pa.DataType, stated: pa.DataType | None) -> pa.DataType:
    """The type of the same values without dictionaries, extensions, views and fixed sizes; that of nulls is the stated one."""
    types, kind = pa.types, _unwrapped(kind)
    if types.is_null(kind):
        return stated or _TEXT
    if types.is_struct(kind):
        of = {field.name: field.type for field in stated or ()}
        return pa.struct([field.with_type(_plain(field.type, of.get(field.name))) for field in kind])
    if _is_list(kind):
        large = types.is_large_list(kind) or types.is_large_list_view(kind)
        inner = _plain(kind.value_type, stated and stated.value_type)
        return (pa.large_list if large else pa.list_)(kind.value_field.with_type(inner))
    if types.is_string_view(kind):
        return _TEXT
    return pa.binary() if types.is_binary_view(kind) else kind
