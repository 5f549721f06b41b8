"""A column that says which of parallel rows is the first or last: numbers, dates and times, or texts.

The first row of a text file decides which of these its column has; a value of another kind is refused, because 9 is before 10 as
a number and behind it as a text. Dates are those of ISO 8601, whose order is that of time; other forms are refused.
"""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.ingest.values.numbers import NumberForm
from pipeline.texts import shown

_NUMBER = pa.decimal128(38, 10)  # holds integers of 64 bits and decimals exactly
_DATE, _ZONED = pa.timestamp("ns"), pa.timestamp("ns", "UTC")
_TEXT = pa.large_string()
_WORDS = {
    _NUMBER: "a number of up to 10 decimals",
    _DATE: "a date or time such as 2026-11-01 or 2026-11-01T02:15:00",
    _ZONED: "a time with a zone, such as 2026-11-01T02:15:00Z",
}
_OTHER_DATE = r"^[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{1,4}\b"
_ORDERED = (
    pa.types.is_integer, pa.types.is_float32, pa.types.is_float64, pa.types.is_decimal128, pa.types.is_date,
    pa.types.is_timestamp, pa.types.is_time, pa.types.is_duration, pa.types.is_large_string,
)  # fmt: skip


def has_order(kind: pa.DataType) -> bool:
    """Whether values of a type have an order that is meant."""
    return any(test(kind) for test in _ORDERED)


@dataclass(frozen=True)
class OrderValues:
    """What the texts of a column of order mean."""

    type: pa.DataType
    form: NumberForm

    @staticmethod
    def of(first: bytes, form: NumberForm) -> "OrderValues":
        """The values of a column whose first text is this one."""
        text = first.decode(errors="replace").strip(" \t")
        kinds = (OrderValues(kind, form) for kind in (_NUMBER, _DATE, _ZONED))
        return next((kind for kind in kinds if text and kind.code(text) is not None), OrderValues(_TEXT, form))

    def code(self, text: str) -> object | None:
        """The value of a text; None for one that is refused."""
        try:
            value: object = self.codes(pa.chunked_array([[text]], pa.string()))[0].as_py()
        except pa.ArrowInvalid:
            return None
        return value

    def why_unknown(self, value: bytes) -> str:
        """What is wrong with a text that is refused."""
        if self.form.is_null(value.decode(errors="replace").strip(" \t")):
            return f"order {shown(value)} is absent, and each row needs one to be the first or last (graph.columns.order)"
        if self.type == _TEXT:
            reason = "is a number, or a date in another form than 2026-11-01, in a column that begins with a text"
            return f"order {shown(value)} {reason} (graph.columns.order)"
        return f"order {shown(value)} is not {_WORDS[self.type]}, as the column begins (graph.columns.order)"

    def codes(self, texts: pa.ChunkedArray) -> pa.ChunkedArray:
        """The values of trimmed texts. Raises ArrowInvalid for a text that is refused."""
        if texts.null_count or pc.any(pc.equal(pc.binary_length(texts), 0)).as_py():
            raise pa.ArrowInvalid("a value is absent")
        if self.type == _NUMBER:
            return self.form.plain_column(texts).cast(_NUMBER)
        if self.type == _TEXT and pc.any(pc.match_substring_regex(texts, f"{_OTHER_DATE}|^[-+]?[0-9.,]+$")).as_py():
            raise pa.ArrowInvalid("a text is a number or a date")
        return texts.cast(self.type)
