"""Texts that name vertices: which of them are integers, which only look like one, and which are not UTF-8.

An integer has one form as an id. Texts such as `007`, `+7`, `-0`, `1_000` or digits of other scripts are not ids of integers,
because two texts of a file would be one vertex.
"""

import re
import unicodedata
from decimal import Decimal

from pipeline.config.model import LARGEST

_CANONICAL = re.compile("0|-?[1-9][0-9]*+")
_INTEGER = re.compile(r"([-+]?)(\d++(?:_\d++)*+)")  # what Python's `int` accepts; possessive, for texts of any length
_DECIMAL = re.compile("[-+]?(?:[0-9]{1,40}[.]?[0-9]{0,40}|[.][0-9]{1,40})(?:[eE][-+]?[0-9]{1,3})?")
_LONGEST = 19  # digits of an id
_SHOWN = 40  # characters of a value in a message


def is_integer_id(text: str) -> bool:
    """Whether a text is an integer in the one form that ids have: no leading zeros, no plus sign, no `-0`, ASCII digits only."""
    return _CANONICAL.fullmatch(text) is not None


def id_of(text: str) -> int | None:
    """The id that a text is; None unless it is an integer in 0..LARGEST, as ids are written."""
    fits = is_integer_id(text) and not text.startswith("-") and len(text) <= _LONGEST and int(text) <= LARGEST
    return int(text) if fits else None


def other_form_of(text: str) -> str | None:
    """The integer that a text writes in another form than ids have, for a message; None for other texts.

    >>> other_form_of("007"), other_form_of("-0"), other_form_of("1_000"), other_form_of("7"), other_form_of("7.0")
    ('7', '0', '1000', None, None)
    """
    match = _INTEGER.fullmatch(text)
    if match is None or is_integer_id(text):
        return None
    digits = "".join(str(unicodedata.decimal(digit)) for digit in match[2] if digit != "_").lstrip("0")
    sign = "-" if match[1] == "-" and digits else ""
    return _short(sign + (digits or "0"))


def decimal_form_of(text: str) -> str | None:
    """The integer that a text writes with a point or an exponent, as tools write ids that they took for numbers; None for others.

    >>> decimal_form_of("25190.0"), decimal_form_of("1e+05"), decimal_form_of("1.5"), decimal_form_of("7"), decimal_form_of("nan")
    ('25190', '100000', None, None, None)
    """
    if _DECIMAL.fullmatch(text) is None or _INTEGER.fullmatch(text):
        return None
    value = Decimal(text)
    whole = value == value.to_integral_value() and abs(value) < 10**_LONGEST
    return str(int(value)) if whole else None


def why_not_an_id(text: str) -> str | None:
    """The reason why a text is not an integer as ids are written, to follow the text; None if it is one."""
    if is_integer_id(text):
        return None
    if number := other_form_of(text):
        return f"is not an integer id, but another form of {number}"
    if number := decimal_form_of(text):
        return f"is not an integer id, but a decimal form of {number}"
    return "is not an integer"


def why_not_utf8(value: bytes) -> str | None:
    """The reason why bytes are not UTF-8, with the first wrong byte and what it would be in Latin-1; None if they are UTF-8."""
    try:
        value.decode()
    except UnicodeDecodeError as error:
        wrong = value[error.start]
        letter = value[error.start : error.start + 1].decode("latin-1")
        perhaps = f", and may be {letter!r} in Latin-1" if letter.isprintable() else ""
        return f"is not UTF-8: byte 0x{wrong:02x} is wrong{perhaps}; `iconv -f latin1 -t utf-8` converts such a file"
    return None


def shown(value: bytes) -> str:
    """Return a value for an error message: quoted, printable, at most _SHOWN bytes of it."""
    return ascii(value[:_SHOWN].decode("latin-1") + ("..." if len(value) > _SHOWN else ""))


def _short(digits: str) -> str:
    return digits if len(digits) <= _SHOWN else f"{digits[:_SHOWN]}..."
