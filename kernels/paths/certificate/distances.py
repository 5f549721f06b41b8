"""The form of distances that certificates of paths require."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernels.graph import UNREACHED, Array, distance_dtype


def is_distance(values: Array) -> Array:
    """Which entries are UNREACHED or can be a sum of weights."""
    valid: Array = values >= 0
    if values.dtype.kind == "f":
        # a sum that starts at 0 is never -0, and an infinite one exceeds the type
        valid &= np.isfinite(values) & ~np.signbit(values)
    valid |= values == UNREACHED
    return valid


def types_of(row: np.dtype[Any], weights: Array | None) -> dict[str, Any]:
    """Type macros of the CUDA sources for rows of this type; arcs without weights weigh 1."""
    weight = np.dtype(np.int32) if weights is None else weights.dtype
    return {"ROW": row, "WEIGHT": weight, "SUM": distance_dtype(weights)}
