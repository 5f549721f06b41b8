"""One field of a line of text: what its values may be, and what is wrong with one that is not."""

import math
import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.config.model import LARGEST
from pipeline.texts import other_form_of, shown, why_not_an_id, why_not_utf8

STRINGS = "; if ids are strings, say so in graph.ids or with --ids string"
# Possessive, so that a value costs time in proportion to its length.
_INTEGER = re.compile(rb"-?[0-9]++")
_DECIMAL = re.compile(rb"[-+]?([0-9]++\.?[0-9]*+|\.[0-9]++)(e[-+]?[0-9]++)?|[-+]?(nan|inf|infinity)", re.IGNORECASE)


class Decimals(Exception):
    """A weight has decimals, but the weights before it were read as integers: the file must be read again."""


class OtherForm(Exception):
    """An id is an integer in another form than ids have, such as 007, so that ids are strings: the file must be read again."""


@dataclass(frozen=True)
class Field:
    """One field of a line.

    Attributes:
        type: int64, float64 or large_string, which may not be empty; None skips the field.
        low, high: Bounds of the value, both allowed.
        decimals: Whether a decimal in an integer field raises Decimals; otherwise it is an error.
        hint: What to do about a wrong id, or a value that is not a number, for the end of the message.
        unit: Unit of the value, which the message states behind the bounds.
        optional: Whether a string may be empty.
        is_id: Whether the values are ids; an integer among them has one form only.
        may_be_text: Whether another form of an integer id raises OtherForm; otherwise it is an error.
    """

    name: str
    type: pa.DataType | None = None
    low: float = 0
    high: float = LARGEST
    decimals: bool = False
    hint: str = ""
    unit: str = ""
    optional: bool = False
    is_id: bool = False
    may_be_text: bool = False

    @property
    def is_text(self) -> bool:
        """Whether the values are strings."""
        return bool(self.type == pa.large_string())


def ends(named: bool = False, low: int = 0, high: int = LARGEST, hint: str = "", auto: bool = False) -> tuple[Field, Field]:
    """The fields `src` and `dst`: strings if `named`, otherwise integers from `low` to `high`, or strings if `auto`."""
    kind = pa.large_string() if named else pa.int64()
    src, dst = (Field(name, kind, low, high, hint=hint, is_id=True, may_be_text=auto) for name in ("src", "dst"))
    return src, dst


def small_integer(value: bytes) -> int | None:
    """Return the value of digits, which may follow a minus sign; None beyond int64. Python refuses to parse the longest."""
    digits = value.lstrip(b"-").lstrip(b"0") or b"0"
    if len(digits) > len(str(LARGEST)) or int(digits) > LARGEST:
        return None
    return int(digits) * (-1 if value.startswith(b"-") else 1)


def beyond_int64(column: pa.ChunkedArray, field: Field) -> bool:
    """Whether a column of floats has a value that as an integer would be refused."""
    return field.decimals and pa.types.is_floating(column.type) and len(column) > 0 and not pc.max(column).as_py() < 2**63


def in_range(column: pa.ChunkedArray, field: Field) -> bool:
    """Whether all values of a column are within the bounds of the field."""
    if not len(column):
        return True
    if field.is_text:
        return field.optional or bool(pc.min(pc.binary_length(column)).as_py() > 0)
    if pa.types.is_floating(column.type):
        values = column.to_numpy()
        return bool(np.isfinite(values).all()) and bool((values >= field.low).all())
    extremes = pc.min_max(column).as_py()
    return bool(extremes["min"] >= field.low and extremes["max"] <= field.high)


def explain(value: bytes, field: Field) -> str | None:
    """Return what is wrong with a value, None if nothing is. Raises Decimals or OtherForm if the file must be read again."""
    if field.is_text:
        if not value and not field.optional:
            return f"{field.name} is empty"
        reason = why_not_utf8(value)
        return reason and f"{field.name} {shown(value)} {reason}"
    value = value.strip(b" \t")
    if field.is_id and (reason := why_not_an_id(text := value.decode(errors="replace"))):
        if field.may_be_text and other_form_of(text):
            raise OtherForm(f"{field.name} {shown(value)} {reason}")
        return f"{field.name} {shown(value)} {reason}{field.hint}"
    integer = _INTEGER.fullmatch(value)
    decimals = field.decimals or pa.types.is_floating(field.type)
    if not integer and not (decimals and _DECIMAL.fullmatch(value)):
        return f"{field.name} {shown(value)} is not {'a number' if decimals else 'an integer'}{field.hint}"
    if pa.types.is_floating(field.type) and not (field.decimals and integer):
        fits = field.low <= float(value) < math.inf
    elif integer:
        number = small_integer(value)
        fits = number is not None and field.low <= number <= field.high
    elif fits := field.low <= float(value) < math.inf:
        raise Decimals
    if fits:
        return None
    hint = field.hint if field.is_id else ""
    return f"{field.name} {shown(value)} is not in {_range(field, integer is not None)} {field.unit}".rstrip() + hint


def _range(field: Field, integer: bool) -> str:
    if integer and (field.decimals or pa.types.is_integer(field.type)):
        return f"{field.low}..{field.high}"
    return f"{field.low} or more, and finite"
