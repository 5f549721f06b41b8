"""Validation of an output against a reference output, by the rules of the benchmark.

* bfs, cdlp: the values are equal.
* wcc: the values divide the vertices into the same sets.
* pr, lcc, sssp: |expected - actual| <= 0.0001 expected; infinities are equal. So a 0 has to be 0.

Both have the same vertices, each once: neither lacks one of the other.
"""

import numpy as np

from kernels.cpu.parallel import over_items, ranges
from kernels.graph import Array

EPSILON = 1e-4
UNREACHED = np.iinfo(np.int64).max
_WIDE = 8  # labels in a range that is so many times longer than their number are numbered by sorting
EXACT = ("bfs", "cdlp", "wcc")  # whose values are integers


def why_invalid(algorithm: str, expected: tuple[Array, Array], actual: tuple[Array, Array]) -> str:
    """The first difference between two outputs, which ascend by vertex; empty if the output is valid."""
    (ids, wanted), (own_ids, own) = expected, actual
    if not np.array_equal(ids, own_ids):
        for some, others, where in ((ids, own_ids, "the output"), (own_ids, ids, "the reference")):
            if len(missing := np.setdiff1d(some, others)):
                return f"vertex {missing[0]} is not in {where}"
        return "a vertex has two values"
    if (ids[1:] == ids[:-1]).any():
        return "a vertex has two values"
    if algorithm == "wcc":
        wanted, own = _named_by_first(wanted), _named_by_first(own)
    differs = _unequal if algorithm in EXACT else _far
    firsts = over_items(ranges(len(ids)), lambda part: _first(differs(wanted[slice(*part)], own[slice(*part)]), part[0]))
    row = next((first for first in firsts if first >= 0), -1)
    if row < 0:
        return ""
    what = "is in another set than" if algorithm == "wcc" else f"is {own[row]}, not {wanted[row]}, as"
    return f"vertex {ids[row]} {what} in the reference"


def _unequal(wanted: Array, own: Array) -> Array:
    unequal: Array = wanted != own
    return unequal


def _far(wanted: Array, own: Array) -> Array:
    with np.errstate(invalid="ignore"):
        near = np.abs(wanted - own) <= EPSILON * wanted
    far: Array = ~np.where(np.isinf(wanted) | np.isinf(own), wanted == own, near)
    return far


def _first(wrong: Array, begin: int) -> int:
    """The first place that is wrong, counted from `begin`, or -1."""
    return begin + int(wrong.argmax()) if wrong.any() else -1


def _named_by_first(labels: Array) -> Array:
    """Of each vertex the place of the first one with its label."""
    if not len(labels):
        return labels
    least, most = int(labels.min()), int(labels.max())
    wide = most - least > _WIDE * len(labels)
    numbers = np.unique(labels, return_inverse=True)[1] if wide else labels - least
    firsts = np.empty(int(numbers.max()) + 1, np.int64)
    firsts[numbers[::-1]] = np.arange(len(numbers))[::-1]  # of equal ones the last assignment stays
    named: Array = firsts[numbers]
    return named
