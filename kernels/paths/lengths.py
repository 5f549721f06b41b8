"""Lengths of paths, encoded as in lengths.cuh: unsigned integers that order as the lengths do."""

from typing import Any

import numpy as np


def length_type(sums: np.dtype[Any]) -> Any:
    """Type of an encoded length if weights are summed in `sums`: int32, int64 or float64."""
    return np.uint32 if sums == np.int32 else np.uint64


def far_of(sums: np.dtype[Any]) -> int:
    """The encoded length of no path."""
    return {"i4": 2**32 - 1, "i8": 2**63, "f8": 0x7FF0000000000000}[sums.str[1:]]


def as_length(sums: np.dtype[Any], length: float) -> Any:
    """Encode a positive length."""
    if sums == np.float64:
        return np.float64(length).view(np.uint64)
    return length_type(sums)(min(max(1, int(length)), np.iinfo(sums).max))


def beyond(sums: np.dtype[Any], start: int, width: Any) -> int:
    """End of an interval from `start` that contains at least one length, even if `start` plus `width` rounds to `start`."""
    if sums == np.float64:
        with np.errstate(over="ignore"):  # an overflow gives infinity, the length of no path
            end = int((np.uint64(start).view(np.float64) + np.uint64(width).view(np.float64)).view(np.uint64))
    else:
        end = min(start + int(width), far_of(sums))
    return max(end, start + 1)
