"""The types of Parquet columns: writers spell one kind of value in several ways, of which each becomes one here."""

import pyarrow as pa

TEXT = pa.large_string()  # its offsets have 64 bits, so that no text is too long


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type as which values are used: TEXT for texts of any kind, JSON included; of a dictionary that of its values."""
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if isinstance(kind, pa.JsonType):
        return plain_type(kind.storage_type)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return TEXT
    return kind


def plain(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """The same values, of the type that `plain_type` returns."""
    kind = plain_type(column.type)
    return column if column.type == kind else column.cast(kind)


def is_text(kind: pa.DataType) -> bool:
    """Whether values are texts, however they are stored."""
    return bool(plain_type(kind) == TEXT)


def is_id(kind: pa.DataType) -> bool:
    """Whether values can be ids."""
    return bool(pa.types.is_integer(plain_type(kind)) or is_text(kind))


def is_number(kind: pa.DataType) -> bool:
    """Whether values are numbers; in a column of nulls none is not."""
    kind = plain_type(kind)
    tests = pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null
    return any(test(kind) for test in tests)


def attribute_type(kind: pa.DataType) -> pa.DataType | None:
    """The type of a column of table `vertices` that has such values; None if it cannot have them.

    A column of nulls, which Parquet gives no type, is one of texts.
    """
    kind = plain_type(kind)
    if pa.types.is_null(kind):
        return TEXT
    tests = pa.types.is_boolean, pa.types.is_date, pa.types.is_time, pa.types.is_timestamp, pa.types.is_duration
    return kind if kind == TEXT or is_number(kind) or any(test(kind) for test in tests) else None
