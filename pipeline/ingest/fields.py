"""One field of a line of text: what its values may be, and what is wrong with one that is not."""

import math
import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.config.model import LARGEST
from pipeline.ingest.values.numbers import USUAL, NumberForm
from pipeline.ingest.values.oneway import Meanings
from pipeline.ingest.values.order import OrderValues
from pipeline.ingest.values.speeds import Lengths, Speeds
from pipeline.texts import is_integer_id, other_form_of, shown, why_not_an_id, why_not_utf8

NO_VALUE = "stands for no value (graph.null)"
_COMMA = "; if ',' is the decimal sign or separates thousands, say so in graph.decimal or graph.thousands"
STRINGS = "; if ids are strings, say so in graph.ids or with --ids string"
# Possessive, so that a value costs time in proportion to its length.
_INTEGER = re.compile(rb"-?[0-9]++")
_DECIMAL = re.compile(rb"[-+]?([0-9]++\.?[0-9]*+|\.[0-9]++)(e[-+]?[0-9]++)?|[-+]?(nan|inf|infinity)", re.IGNORECASE)
_WITH_COMMA = re.compile(rb"-?[0-9.]*+(,[0-9.]*+)++")


class Decimals(Exception):
    """A weight has decimals, but the weights before it were read as integers: the file must be read again."""


class OtherForm(Exception):
    """An id is an integer in another form than ids have, such as 007, so that ids are strings: the file must be read again."""


@dataclass(frozen=True)
class Fault:
    """What is wrong with a line or a row: the reason, and the column and the value that it names, if it names one."""

    reason: str
    column: str = ""
    value: bytes = b""
    structural: bool = False  # whether the file is not what its header says, so that no other line can be trusted


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
        form: How numbers are written, and which texts are no value.
        nullable: Whether a number may be absent, and is then null.
        meanings: Of the texts, if they are directions, an order, or lengths and speeds, which stay texts.
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
    form: NumberForm = USUAL
    nullable: bool = False
    meanings: Meanings | Speeds | Lengths | OrderValues | None = None

    @property
    def is_text(self) -> bool:
        """Whether the values are strings."""
        return bool(self.type == pa.large_string()) and not self.meanings

    @property
    def is_converted(self) -> bool:
        """Whether Arrow reads the values as texts, which `converted` turns into numbers."""
        stated = self.meanings or self.nullable or self.form.nulls or not self.form.is_usual
        return bool(stated) and not (self.is_text or self.is_id)


def ends(named: bool = False, low: int = 0, high: int = LARGEST, hint: str = "", auto: bool = False) -> tuple[Field, Field]:
    """The fields `src` and `dst`: strings if `named`, otherwise integers from `low` to `high`, or strings if `auto`."""
    kind = pa.large_string() if named else pa.int64()
    src, dst = (Field(name, kind, low, high, hint=hint, is_id=True, may_be_text=auto) for name in ("src", "dst"))
    return src, dst


def converted(texts: pa.ChunkedArray, field: Field) -> pa.ChunkedArray:
    """The numbers in a column of texts. Raises ArrowInvalid for a text that is not one as the field has them."""
    known = field.form.without_nulls(texts)
    if field.meanings:
        return field.meanings.codes(known)
    if known.null_count and not field.nullable:
        raise pa.ArrowInvalid("a value is absent")
    return field.form.plain_column(known).cast(field.type)


def has_null_text(column: pa.ChunkedArray, field: Field) -> bool:
    """Whether an id is a text that stands for no value."""
    if not (field.is_id and field.form.nulls):
        return False
    nulls = sorted(field.form.nulls) if field.is_text else [int(text) for text in field.form.nulls if _is_int64(text)]
    return bool(pc.any(pc.is_in(column, pa.array(nulls, field.type))).as_py())


def small_integer(value: bytes) -> int | None:
    """Return the value of digits, which may follow a minus sign; None beyond int64. Python refuses to parse the longest."""
    digits = value.lstrip(b"-").lstrip(b"0") or b"0"
    if len(digits) > len(str(LARGEST)) or int(digits) > LARGEST:
        return None
    return int(digits) * (-1 if value.startswith(b"-") else 1)


def beyond_int64(column: pa.ChunkedArray, field: Field) -> bool:
    """Whether a column of floats has a value that as an integer would be refused."""
    known = field.decimals and pa.types.is_floating(column.type) and column.null_count < len(column)
    return known and not pc.max(column).as_py() < 2**63


def in_range(column: pa.ChunkedArray, field: Field) -> bool:
    """Whether all values of a column are within the bounds of the field; those with meanings are."""
    if field.meanings or column.null_count == len(column):
        return True
    if field.is_text:
        return field.optional or bool(pc.min(pc.binary_length(column)).as_py() > 0)
    if pa.types.is_floating(column.type):
        values = column.drop_null().to_numpy()
        return bool(np.isfinite(values).all()) and bool((values >= field.low).all())
    extremes = pc.min_max(column).as_py()
    return bool(extremes["min"] >= field.low and extremes["max"] <= field.high)


def explain(value: bytes, field: Field) -> Fault | None:
    """Return what is wrong with a value, None if nothing is. Raises Decimals or OtherForm if the file must be read again."""
    reason = _why_no_text(value, field) if field.is_text else _why_not(value.strip(b" \t"), field)
    return Fault(reason, field.name, value) if reason else None


def _why_no_text(value: bytes, field: Field) -> str | None:
    if not value and not field.optional:
        return f"{field.name} is empty"
    if reason := why_not_utf8(value):
        return f"{field.name} {shown(value)} {reason}{', or graph.encoding states its encoding' if field.is_id else ''}"
    return f"{field.name} {shown(value)} {NO_VALUE}" if value.decode() in field.form.nulls else None


def _why_not(value: bytes, field: Field) -> str | None:
    """What is wrong with a direction or a number."""
    text = value.decode(errors="replace")
    if field.meanings:
        known = "" if field.form.is_null(text) else text
        return field.meanings.why_unknown(value) if field.meanings.code(known) is None else None
    if field.form.is_null(text) and (field.nullable or text):
        return None if field.nullable else f"{field.name} {shown(value)} {NO_VALUE}"
    if field.is_id or field.form.is_usual:
        return _why_no_number(value, value, field)
    if (plain := field.form.plain(text)) is None:
        return f"{field.name} {shown(value)} is not a number {field.form}{field.hint}"
    return _why_no_number(plain.encode(), value, field)


def _why_no_number(number: bytes, value: bytes, field: Field) -> str | None:
    """What is wrong with a number as programs write it; the file has it as `value`."""
    text = number.decode(errors="replace")
    if field.is_id and (reason := why_not_an_id(text)):
        if field.may_be_text and other_form_of(text):
            raise OtherForm(f"{field.name} {shown(value)} {reason}")
        return f"{field.name} {shown(value)} {reason}{field.hint}"
    decimals = field.decimals or pa.types.is_floating(field.type)
    integer = _INTEGER.fullmatch(number)
    if not integer and not (decimals and _DECIMAL.fullmatch(number)):
        hint = field.hint or (_COMMA if decimals and _WITH_COMMA.fullmatch(number) else "")
        return f"{field.name} {shown(value)} is not {'a number' if decimals else 'an integer'}{hint}"
    if pa.types.is_floating(field.type) and not (field.decimals and integer):
        fits = field.low <= float(number) < math.inf
    elif integer:
        whole = small_integer(number)
        fits = whole is not None and field.low <= whole <= field.high
    elif fits := field.low <= float(number) < math.inf:
        raise Decimals
    if fits:
        return None
    hint = field.hint if field.is_id else ""
    return f"{field.name} {shown(value)} is not in {_range(field, integer is not None)} {field.unit}".rstrip() + hint


def _range(field: Field, integer: bool) -> str:
    if integer and (field.decimals or pa.types.is_integer(field.type)):
        return f"{field.low}..{field.high}"
    return f"{field.low} or more, and finite"


def _is_int64(text: str) -> bool:
    return is_integer_id(text) and small_integer(text.encode()) is not None
