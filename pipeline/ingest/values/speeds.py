"""Lengths and speeds as the texts of a source have them, both exact: a length stays the decimal it is, a speed is a fraction.

OpenStreetMap's `maxspeed` is a number of km/h, or one with its unit (`30 mph`); several values are joined by `;` or `|` or, by
OSMnx, as the text of a Python list. `none`, `walk` or `RO:urban` state no number.
"""

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.config.graph import FASTEST, SLOWEST, GraphConfig
from pipeline.ingest.values.numbers import NumberForm
from pipeline.texts import shown

FARTHEST = 10**9  # the largest length of a row; over SLOWEST it is less than 2^63 milliseconds in all units
METRES = {"m": Fraction(1), "km": Fraction(1000), "mi": Fraction("1609.344"), "ft": Fraction("0.3048")}
PER_SECOND = {  # metres per second
    "m/s": Fraction(1), "km/h": Fraction(1000, 3600), "mph": METRES["mi"] / 3600, "knots": Fraction(1852, 3600),
}  # fmt: skip
_UNITS = {"kmh": "km/h", "kph": "km/h", "knot": "knots"} | {name: name for name in PER_SECOND}
_UNIT = re.compile(r"[ \t]*(km/h|kmh|kph|mph|m/s|knots?)$", re.IGNORECASE)
_ITEM = re.compile(r"""[ \t]*(?:'([^']*)'|"([^"]*)"|([^,'"\[\]]*))[ \t]*(?:,|$)""")  # of a list
# What OpenStreetMap has instead of a number: words, and kinds of roads in a country (`DE:zone:30`).
_WORDS = frozenset(["none", "walk", "signals", "variable", "unposted", "unknown", "implicit", "default", "national", "nan"])
_ZONE = re.compile(r"[A-Z]{2}(-[A-Z]+)?:[a-z0-9_:.]+", re.IGNORECASE)
_LONGEST = 200  # letters of a value; exact arithmetic takes time in proportion to their square
_KNOWN = 2**16  # values whose meaning is kept


class _Refused(Exception):
    """Why a text is not a speed."""


@dataclass(frozen=True)
class Speeds:
    """What the texts of a column of speeds mean.

    Attributes:
        form: How numbers are written.
        unit: Of numbers that state none, a key of PER_SECOND.
        default: Metres per second where a text states no speed; None refuses it.
    """

    form: NumberForm
    unit: str = "km/h"
    default: Fraction | None = None

    @staticmethod
    def of(graph: GraphConfig) -> "Speeds":
        """The meanings that a configuration states."""
        stated = graph.speed.default
        default = None if stated is None else Fraction(repr(stated)) * PER_SECOND[graph.speed.unit]
        return Speeds(NumberForm.of(graph), graph.speed.unit, default)

    def stated(self, text: str) -> Fraction | None:
        """Metres per second that a trimmed text states, the lowest of several; None if it states none, or is not a speed.

        >>> Speeds(NumberForm()).stated("['72', '36']"), Speeds(NumberForm()).stated("none")
        (Fraction(10, 1), None)
        """
        try:
            return _stated(self, text)
        except _Refused:
            return None

    def code(self, text: str) -> Fraction | None:
        """Metres per second of a trimmed text, perhaps by default; None for one that is refused."""
        try:
            speed = _stated(self, text)
        except _Refused:
            return None
        return self.default if speed is None else speed

    def why_unknown(self, value: bytes) -> str:
        """What is wrong with a text that is refused."""
        text = value.decode(errors="replace").strip(" \t")
        try:
            _stated(self, "" if self.form.is_null(text) else text)
        except _Refused as error:
            return f"speed {shown(value)} {error}"
        return f"speed {shown(value)} states no speed; [graph.speed] default states that of such rows"

    def codes(self, texts: pa.ChunkedArray) -> pa.ChunkedArray:
        """The same trimmed texts; a null is an empty text. Raises ArrowInvalid for a text that is refused."""
        if any(self.code(text or "") is None for text in pc.unique(texts).to_pylist()):
            raise pa.ArrowInvalid("a text is not a speed")
        return texts


@dataclass(frozen=True)
class Lengths:
    """What the texts of a column of lengths mean: numbers from 0 to FARTHEST in a form."""

    form: NumberForm

    def code(self, text: str) -> str | None:
        """The number as programs write it; None for a text that is refused."""
        plain = self.form.plain(text)
        plain = plain and plain.removeprefix("+")
        return plain if plain is not None and len(plain) <= _LONGEST and 0 <= float(plain) <= FARTHEST else None

    def why_unknown(self, value: bytes) -> str:
        """What is wrong with a text that is refused."""
        text = value.decode(errors="replace").strip(" \t")
        if self.form.is_null(text):
            return f"weight {shown(value)} is absent, and a travel time needs the length of each row"
        if self.form.plain(text) is None:
            return f"weight {shown(value)} is not a number {self.form}"
        if len(text) > _LONGEST:
            return f"weight {shown(value)} is longer than {_LONGEST} letters"
        return f"weight {shown(value)} is not in 0..{FARTHEST}, as the length of a row is"

    def codes(self, texts: pa.ChunkedArray) -> pa.ChunkedArray:
        """The numbers of trimmed texts as programs write them. Raises ArrowInvalid for a text that is refused."""
        if texts.null_count:
            raise pa.ArrowInvalid("a length is absent")
        plain = pc.utf8_ltrim(self.form.plain_column(texts), "+")
        if len(plain) and pc.max(pc.binary_length(plain)).as_py() > _LONGEST:
            raise pa.ArrowInvalid("a length is too long")
        extremes = pc.min_max(plain.cast(pa.float64())).as_py()
        if len(plain) and not (extremes["min"] >= 0 and extremes["max"] <= FARTHEST):
            raise pa.ArrowInvalid("a length is out of range")
        return plain


@lru_cache(_KNOWN)
def _stated(speeds: Speeds, text: str) -> Fraction | None:
    """As `Speeds.stated`; raises _Refused for a text that is not a speed."""
    if len(text) > _LONGEST:
        raise _Refused(f"is longer than {_LONGEST} letters")
    stated = (_one(speeds, item) for item in _items(text))
    return min((speed for speed in stated if speed is not None), default=None)


def _items(text: str) -> list[str]:
    """The values in a text."""
    if not (text.startswith("[") and text.endswith("]")):
        return [item.strip(" \t") for item in re.split("[;|]", text)]
    items, place, inner = list[str](), 0, text[1:-1]
    while place < len(inner):
        if not (item := _ITEM.match(inner, place)):
            raise _Refused("is not a list of speeds")
        items.append((item[1] or item[2] or item[3] or "").strip(" \t"))
        place = item.end()
    return items


def _one(speeds: Speeds, text: str) -> Fraction | None:
    if not text or speeds.form.is_null(text) or text.lower() in _WORDS or _ZONE.fullmatch(text):
        return None
    stated = _UNIT.search(text)
    number, unit = (text[: stated.start()], _UNITS[stated[1].lower()]) if stated else (text, speeds.unit)
    plain = speeds.form.plain(number)
    if plain is None:
        form = "" if speeds.form.is_usual else f" {speeds.form}"
        raise _Refused(f"is not a speed such as 50, '30 mph' or 50;30{form}; [graph] null lists texts that mean no value")
    if not SLOWEST <= float(plain) <= FASTEST:  # also of a number with a large exponent, which would be a long fraction
        raise _Refused(f"is not in {SLOWEST}..{FASTEST} {unit}")
    return Fraction(plain) * PER_SECOND[unit]
