"""The reason for which labels are refused."""

from typing import Any


def another_label(vertex: Any, stated: Any, expected: Any) -> str:
    """Reason where a label is not that of the rounds; all are external ids."""
    return f"vertex {vertex}: label {stated} is not {expected}, which it has after all rounds"
