"""Sizes, durations and times as text."""

import datetime as dt
import re


def size(count: float) -> str:
    """A number of bytes with a decimal unit: `12.3 MB`."""
    units = iter(("bytes", "kB", "MB", "GB", "TB", "PB"))
    unit = next(units)
    while count >= 1000 and unit != "PB":
        count, unit = count / 1000, next(units)
    return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"


def duration(seconds: float) -> str:
    """`4.2 s`, `75 s`, `12 min`, `3.5 h`."""
    if seconds < 120:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def length(metres: float) -> str:
    """`0.4 m`, `812 m`, `5,912 km`."""
    if metres < 10_000:
        return f"{metres:,.1f} m" if metres < 100 else f"{metres:,.0f} m"
    return f"{metres / 1000:,.0f} km"


def utc(iso: str) -> str:
    """`2026-11-20 23:06:07 UTC`."""
    return dt.datetime.fromisoformat(iso).astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def time_of(text: str) -> dt.timedelta | None:
    """The time that `90s`, `10m`, `1.5h`, `2d` or `0` states; None for another text."""
    if not (match := re.fullmatch(r"(?a:(\d{1,9}(?:\.\d{1,9})?)([smhd])|0)", text)):
        return None
    unit = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}[match[2] or "s"]
    return dt.timedelta(**{unit: float(match[1] or 0)})
