"""Numbers as users write them: each is taken exactly, or refused."""

from decimal import Decimal, InvalidOperation
from math import isfinite

LARGEST = 2**63 - 1  # integer


class Rounded(ValueError):
    """A numeral that no 64-bit float states exactly."""


def exact_float(text: str) -> float:
    """The 64-bit float that a decimal numeral states: its shortest numeral, or that of 17 digits, has the same value.

    Raises Rounded for a numeral that a float would round, and ValueError for a text that is none.
    """
    value = _decimal(text)
    nearest = float(value)
    if value.is_finite() and not isfinite(nearest):
        raise Rounded(f"{_shown(text)} is beyond the largest 64-bit float")
    if value.is_finite() and value not in (Decimal(repr(nearest)), Decimal(f"{nearest:.17g}")):
        raise Rounded(f"{_shown(text)} is between two 64-bit floats, and the nearest one is {nearest!r}")
    return nearest


def exact_number(text: str) -> int | float:
    """The number that a numeral states: an integer if it is whole and has 64 bits, otherwise as `exact_float`."""
    value = _decimal(text)
    if value.is_finite() and value.adjusted() < len(str(LARGEST)) and value == value.to_integral_value():
        whole = int(value)
        if abs(whole) <= LARGEST:
            return whole
    return exact_float(text)


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{_shown(text)} is not a number") from None


def _shown(text: str) -> str:
    return repr(text[:40])
