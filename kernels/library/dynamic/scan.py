"""The general exclusive scan: sum, product, maximum or minimum of all values before each one."""

from typing import Any

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.graph import WEIGHTS, Array
from kernels.library.dynamic.constants import SCAN_MAX, SCAN_MIN, SCAN_PRODUCT, SCAN_SUM, SCAN_THREADS

_OPERATORS = {
    "sum": (SCAN_SUM, np.add),
    "product": (SCAN_PRODUCT, np.multiply),
    "max": (SCAN_MAX, np.maximum),
    "min": (SCAN_MIN, np.minimum),
}
_SOURCE = "library/dynamic/scan.cu"


def identity(dtype: np.dtype[Any], how: str) -> Any:
    """The value that does not change what it is combined with."""
    if how in ("sum", "product"):
        return dtype.type(how == "product")
    if dtype.kind == "f":
        return dtype.type(-np.inf if how == "max" else np.inf)
    return dtype.type(np.iinfo(dtype).min if how == "max" else np.iinfo(dtype).max)


def exclusive_scan(values: Array, how: str = "sum") -> Array:
    """Combine the values before each one, in their type; the first result is the identity.

    Args:
        values (int32, int64, float32 or float64 [n]): Any length. A GPU combines floats in another order than a CPU.
        how ({"sum", "product", "max", "min"})

    Raises:
        TypeError, ValueError: Values of another type, or another `how`.
    """
    if how not in _OPERATORS:
        raise ValueError(f"exclusive_scan: {how!r} is not one of {', '.join(_OPERATORS)}")
    if values.dtype not in WEIGHTS:
        raise TypeError(f"exclusive_scan: values are {values.dtype}, not {', '.join(map(str, WEIGHTS))}")
    operator, combine = _OPERATORS[how]
    scanned = np.empty_like(values)
    if not len(values):
        return scanned
    if is_cupy_array(values):
        _scan(values, operator, identity(values.dtype, how), scanned)
    else:
        scanned[0] = identity(values.dtype, how)
        combine.accumulate(values[:-1], dtype=values.dtype, out=scanned[1:])
    return scanned


def _scan(values: Any, operator: int, neutral: Any, scanned: Any) -> None:
    import cupy

    from kernels.gpu.loader import launch

    values = cupy.ascontiguousarray(values)
    length, blocks = np.int64(len(values)), -(-len(values) // (2 * SCAN_THREADS))
    sums, types = np.empty(blocks, values.dtype, like=values), {"WEIGHT": values.dtype}
    arguments = values, length, np.int32(operator), neutral, scanned, sums
    launch(_SOURCE, "scan_blocks", SCAN_THREADS, None, *arguments, blocks=blocks, plain=True, **types)
    if blocks > 1:
        before = np.empty_like(sums)
        _scan(sums, operator, neutral, before)
        launch(_SOURCE, "add_sums", SCAN_THREADS, len(values), scanned, length, np.int32(operator), before, **types)
