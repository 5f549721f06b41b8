"""Columns of segments in plain types: a file may have dictionaries, lists of a fixed size, or only nulls in their place."""

import pyarrow as pa

_NAMED = {
    "id": pa.string(), "geometry": pa.binary(), "subtype": pa.string(), "class": pa.string(),
    "connectors": pa.list_(pa.struct([("connector_id", pa.string()), ("at", pa.float64())])),
}  # fmt: skip
NEEDED = tuple(_NAMED)


def plain(table: pa.Table) -> pa.Table:
    """A table of segments with the same values in plain types; a column of which nothing but its name is known is left out."""
    for number, field in reversed([*enumerate(table.schema)]):
        if not pa.types.is_null(field.type):
            kind = _plain(field.type)
        elif field.name in _NAMED:
            kind = _NAMED[field.name]
        else:
            table = table.remove_column(number)
            continue
        if kind != field.type:
            table = table.set_column(number, field.name, table.column(number).cast(kind))
    return table


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type of the same values without dictionaries, extensions, views and fixed sizes; nulls without a type are texts."""
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType) or types.is_dictionary(kind):
        return _plain(kind.value_type if types.is_dictionary(kind) else kind.storage_type)
    if types.is_struct(kind):
        return pa.struct([field.with_type(_plain(field.type)) for field in kind])
    if types.is_large_list(kind) or types.is_large_list_view(kind):
        return pa.large_list(kind.value_field.with_type(_plain(kind.value_type)))
    if types.is_list(kind) or types.is_list_view(kind) or types.is_fixed_size_list(kind):
        return pa.list_(kind.value_field.with_type(_plain(kind.value_type)))
    if types.is_string_view(kind) or types.is_null(kind):
        return pa.string()
    return pa.binary() if types.is_binary_view(kind) else kind
