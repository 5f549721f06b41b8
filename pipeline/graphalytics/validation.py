"""Validation of an output against a reference output, by the rules of the benchmark.

* bfs, cdlp: the values are equal.
* wcc: the values divide the vertices into the same sets.
* pr, lcc, sssp: |expected - actual| <= 0.0001 expected; infinities are equal. So a 0 has to be 0.

Both have the same vertices, each once: neither lacks one of the other.
"""

import numpy as np

from kernels.graph import Array

EPSILON = 1e-4
UNREACHED = np.iinfo(np.int64).max
EXACT = ("bfs", "cdlp", "wcc")  # whose values are integers


def why_invalid(algorithm: str, expected: tuple[Array, Array], actual: tuple[Array, Array]) -> str:
    """The first difference between two outputs, which ascend by vertex; empty if the output is valid."""
    (ids, wanted), (own_ids, own) = expected, actual
    for some, others, where in ((ids, own_ids, "the output"), (own_ids, ids, "the reference")):
        if len(missing := np.setdiff1d(some, others)):
            return f"vertex {missing[0]} is not in {where}"
    if len(ids) != len(own_ids) or (np.diff(own_ids) == 0).any() or (np.diff(ids) == 0).any():
        return "a vertex has two values"
    if algorithm == "wcc":
        wanted, own = _named_by_first(wanted), _named_by_first(own)
    if algorithm in EXACT:
        wrong = wanted != own
    else:
        with np.errstate(invalid="ignore"):
            near = np.abs(wanted - own) <= EPSILON * wanted
        wrong = ~np.where(np.isinf(wanted) | np.isinf(own), wanted == own, near)
    if not wrong.any():
        return ""
    row = int(wrong.argmax())
    what = "is in another set than" if algorithm == "wcc" else f"is {own[row]}, not {wanted[row]}, as"
    return f"vertex {ids[row]} {what} in the reference"


def _named_by_first(labels: Array) -> Array:
    """Of each vertex the place of the first one with its label."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    named: Array = first[inverse]
    return named
