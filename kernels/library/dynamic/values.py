"""Vertices, weights and rows as graphs that change take them: whatever a caller has, in the type that is stored, or refused."""

from typing import Any

import numpy as np

from kernels.graph import WEIGHTS, Array, Csr

LARGEST_VERTEX = 2**31 - 2  # vertices are int32


def require_vertex(vertex: int) -> int:
    """Return the number of a new vertex; raises OverflowError if int32 does not hold it."""
    if vertex > LARGEST_VERTEX:
        raise OverflowError(f"vertex {vertex} exceeds {LARGEST_VERTEX}")
    return vertex


def column_of(values: Any, like: Array) -> Array:
    """Values as an array of one dimension in the memory of `like`; raises ValueError."""
    column: Array = np.asarray(values, like=like)
    if column.ndim != 1:
        raise ValueError(f"batch: an array of {column.ndim} dimensions, where a column is needed")
    return column


def vertices_of(values: Any, like: Array) -> Array:
    """Vertices (integers [B]) as int32, -1 for numbers that no vertex can have; raises ValueError unless they are integers."""
    column = column_of(values, like)
    if len(column) and column.dtype.kind not in "iu":
        raise ValueError(f"batch: vertices are {column.dtype}, not integers")
    if column.dtype == np.int32:
        return column
    wide = column.astype(np.int64)  # uint64 beyond int64 becomes negative
    return np.where((wide >= 0) & (wide <= LARGEST_VERTEX), wide, np.int64(-1)).astype(np.int32)


def converted(values: Any, dtype: Any, like: Array) -> Array:
    """Weights (integers, floats or bools [B]) in the type of a graph's weights.

    Raises:
        ValueError: One is negative, not finite, or the type does not hold it: an integer type holds equal values, a float type
            those that it does not round to 0 or to infinity.
    """
    given, dtype = column_of(values, like), checked_weight_type(dtype)
    if given.dtype.kind not in "biuf" and len(given):
        raise ValueError(f"batch: weights are {given.dtype}, not numbers")
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        kept = given.astype(dtype)
        fits = given < 2.0 ** (8 * dtype.itemsize - 1)
    held = (kept >= 0) & (np.isfinite(kept) & ((kept != 0) | (given == 0)) if dtype.kind == "f" else kept == given)
    if dtype.kind == "i" and given.dtype.kind == "f":  # a GPU converts larger ones to the largest integer
        held &= fits
    if not bool(held.all()):
        raise ValueError(f"batch: weight {given[~held][0]} is not one of {dtype}, 0 or more, and finite")
    return kept


def checked_weight_type(dtype: Any) -> np.dtype[Any]:
    """The type of a graph's weights; raises ValueError unless graphs have weights of this type."""
    kind: np.dtype[Any] = np.dtype(dtype)
    if kind not in WEIGHTS:
        raise ValueError(f"weights are {kind}; those of a graph are {', '.join(map(str, WEIGHTS))}")
    return kind


def require_csr(csr: Csr) -> Csr:
    """Return the CSR that a graph begins with; raises ValueError unless heads are rows, and types those of a graph."""
    Csr(csr.offsets, csr.indices, None).validate(len(csr.offsets) - 1)
    if csr.weights is not None:
        checked_weight_type(csr.weights.dtype)
        if len(csr.weights) != len(csr.indices):
            raise ValueError(f"{len(csr.weights)} weights for {len(csr.indices)} arcs")
    return csr


def require_ascending(csr: Csr, distinct: bool) -> Csr:
    """Return a CSR as `require_csr`; raises ValueError also unless the heads of each row ascend, and are `distinct`."""
    require_csr(csr)
    before, after = csr.indices[:-1], csr.indices[1:]
    wrong = (after <= before) if distinct else (after < before)
    begins = csr.offsets[1:-1]
    wrong[begins[(begins > 0) & (begins < len(csr.indices))] - 1] = False
    if bool(wrong.any()):
        at = int(np.flatnonzero(wrong)[0])
        row = int(np.searchsorted(csr.offsets, csr.offsets[:1] + at, side="right")[0]) - 1
        order = "ascend, each once" if distinct else "ascend"
        raise ValueError(f"row {row}: head {int(after[at])} stands behind {int(before[at])}, and the heads of a row must {order}")
    return csr
