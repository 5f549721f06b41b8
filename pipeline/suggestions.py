"""Suggestions for misspelt names."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(given: str, known: Iterable[str], similarity: float = 0.7) -> str:
    """`; did you mean 'weight'?`, or nothing if no known name is as similar, from 0 to 1."""
    lowered = {name.lower(): name for name in known}
    close = get_close_matches(given.lower(), lowered, 1, similarity)
    return f"; did you mean {lowered[close[0]]!r}?" if close else ""
