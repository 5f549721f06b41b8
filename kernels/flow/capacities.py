"""What arcs can carry, as integers, so that flows add up exactly."""

import math

import numpy as np

from kernels.graph import OFFSET, Array, Graph

BITS = 62  # the capacities of all arcs together are below 2^62 units


def unit_exponent(graph: Graph) -> int:
    """The unit of the capacities is 2^-k times the weights' own, for this k; 0 where weights are integers, or 1.

    For floats k is the largest with which weights as large as the largest, on all arcs, stay below 2^62 units. Weights are
    then rounded to units; the largest has at least 2^60 units divided by the number of arcs, so most have no digits below one.

    Raises:
        OverflowError: The weights are integers, and weights as large as the largest, on all arcs, may reach 2^62.
    """
    weights = graph.out.weights
    if weights is None or not len(weights):
        return 0
    largest, count = weights.max().item(), len(weights)
    if weights.dtype.kind == "i":
        if largest * count >= 2**BITS:
            raise OverflowError(
                f"the largest weight, {largest}, times {count:,} arcs is not below 2^{BITS}; flows need smaller weights"
            )
        return 0
    return BITS - math.frexp(largest)[1] - count.bit_length() if largest else 0


def capacities(graph: Graph) -> Array:
    """The capacity of each out-arc, int64 [A], in units. Raises OverflowError as `unit_exponent`, or if a weight is no unit."""
    weights = graph.out.weights
    if weights is None:
        return np.ones_like(graph.out.indices, OFFSET)
    if weights.dtype.kind == "i":
        unit_exponent(graph)
        return weights.astype(OFFSET)
    exponent = unit_exponent(graph)
    units = np.rint(np.ldexp(weights.astype(np.float64), exponent)).astype(OFFSET)
    if (lost := (units == 0) & (weights > 0)).any():
        raise OverflowError(
            f"the weight {weights[lost].min()} is less than half a unit, 2^{-exponent}, the least with the largest weight, "
            f"{weights.max()}, and {len(weights):,} arcs; flows need weights that are closer together"
        )
    return units


def as_weights(graph: Graph, amounts: Array) -> Array:
    """Amounts in units, int64, as sums of weights: int64, or float64 that are rounded once. Raises OverflowError."""
    if graph.out.weights is None or graph.out.weights.dtype.kind == "i":
        return amounts
    with np.errstate(over="ignore"):
        weights: Array = np.ldexp(amounts.astype(np.float64), -unit_exponent(graph))
    if not np.isfinite(weights).all():
        raise OverflowError("a flow exceeds the largest float64")
    return weights
