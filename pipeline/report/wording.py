"""Numbers and times as text."""

import datetime as dt
from typing import Any

import numpy as np

from pipeline.store.facts import PathFacts, QueryFacts


def number(value: Any) -> str:
    """A count, weight or distance: integers in full, floats to six digits, without an exponent if possible."""
    if isinstance(value, int | np.integer):
        return f"{int(value):,}"
    return f"{float(value):,.0f}" if 1e6 <= abs(value) < 1e15 else f"{float(value):,.6g}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """`1 tree`, `2 trees`, `2 vertices`."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def answered(queries: QueryFacts) -> str:
    """Describe answered queries."""
    words = ", ".join(f"{word} {queries.decided[word]:,}" for word in ("same", "filter", "positive cut", "search"))
    unknown = f", {queries.unknown:,} unknown" if queries.unknown else ""
    proof = f" ({queries.witnessed:,} paths and {queries.sampled:,} without one checked)" if queries.searched else ""
    return f"{queries.rows:,} pairs: {queries.reachable:,} reachable{unknown}; decided by {words}{proof}"


def witnessed(paths: PathFacts) -> str:
    """Describe witness paths."""
    sizes = f"{counted(paths.vertices, 'vertex', 'vertices')}, the longest of {counted(paths.longest, 'arc')}"
    return f"{counted(paths.paths, 'witness path')} with {sizes}; each arc checked"


def utc(iso: str) -> str:
    """`2026-11-20 23:06:07 UTC`."""
    return dt.datetime.fromisoformat(iso).astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
