"""Recognise columns of dates and times, which are no ids, from their values and, for integers, also from their names."""

import re
from collections.abc import Sequence

_31 = r"(?:0?[1-9]|[12]\d|3[01])"
_DAY = rf"(?:\d{{4}}[-/.](?:0?[1-9]|1[0-2])(?:[-/.]{_31})?|{_31}[-/.]{_31}[-/.](?:\d{{4}}|\d{{2}}))"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_NAMED = rf"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? )?(?:\d{{1,2}}[ -]{_MONTH}|{_MONTH} \d{{1,2}}),?(?:[ -]\d{{2,4}})?"
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[ap]m)?"
_ZONE = r"(?: ?(?:z|utc|gmt|[+-]\d{2}:?\d{2}))?"
_DATE = re.compile(rf"(?:{_DAY}|{_NAMED})(?:[t ]\s?{_CLOCK}{_ZONE})?(?: \d{{4}})?|{_CLOCK}{_ZONE}", re.IGNORECASE)
_OF_YEARS = {"year", "since", "until", "date", "yr"}
_OF_TIMES = {
    "time",
    "timestamp",
    "ts",
    "at",
    "date",
    "datetime",
    "day",
    "created",
    "updated",
    "modified",
    "epoch",
    "since",
    "until",
}
_YEARS, _DAYS = range(1000, 2200), range(1900_01_01, 2200_01_01)
_SECONDS = range(100_000_000, 5_000_000_000)  # since 1970, from 1973 on; also in thousandths, and so on


# Seconds and days from 1990 to 2032, among which not all of thousands of ids are by accident.
_RECENT = [range(631_152_000 * unit, 1_988_150_400 * unit) for unit in (1, 10**3, 10**6, 10**9)] + [range(1990_01_01, 2033_01_01)]


def may_be_moments(values: Sequence[int]) -> bool:
    """Whether integers may be times or days of today, whatever their column is called."""
    return any(all(value in part for value in values) for part in _RECENT)


def is_date(text: str) -> bool:
    """Whether a text is a date, a time or both, such as `2026-01-01T08:15:00Z`, `1.2.2026` or `1 Jan 2026`."""
    return bool(_DATE.fullmatch(text))


def are_moments(name: str, values: Sequence[int]) -> bool:
    """Whether integers are years, days such as 20260101 or seconds since 1970, as the name of their column suggests."""
    words = set(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower().replace("_", " ").replace("-", " ").split())
    if words & _OF_YEARS and all(value in _YEARS for value in values):
        return True
    units = [range(_SECONDS.start * unit, _SECONDS.stop * unit) for unit in (1, 10**3, 10**6, 10**9)]
    return bool(words & _OF_TIMES) and any(all(value in part for value in values) for part in (_DAYS, *units))
