"""How many cases a test tries: all of them at night (`make nightly` sets NIGHTLY=1), a share in `make test`."""

import os
from collections.abc import Sequence
from datetime import date
from itertools import product
from typing import TypeVar

Case = TypeVar("Case")

NIGHTLY = os.environ.get("NIGHTLY") == "1"
_SHARE, _LEAST = 6, 15
_DAY = int(os.environ.setdefault("DAY_OF_TESTS", str(date.today().toordinal())))  # pytest-xdist's processes inherit it


def examples(full: int) -> int:
    """The value of Hypothesis's `max_examples` for a test that tries `full` examples at night."""
    return full if NIGHTLY else max(min(full, _LEAST), full // _SHARE)


def of_the_day(*groups: Sequence[Case]) -> tuple[Case, ...]:
    """One case of each group, another one every day; at night all. The module that tries them is marked `sampled`."""
    if NIGHTLY:
        return tuple(case for group in groups for case in group)
    return tuple(group[_DAY % len(group)] for group in groups)


def first_of_the_day(stride: int) -> int:
    """Where a test that tries every `stride`-th of numbered events begins."""
    return _DAY % stride


def in_turn(share: int, *axes: Sequence[Case]) -> list[tuple[Case, ...]]:
    """Of all combinations one in `share`, others every day; at night all. The last axis turns fastest. Marked as `of_the_day`."""
    combinations = list(product(*axes))
    return combinations if NIGHTLY else combinations[_DAY % share :: share]
