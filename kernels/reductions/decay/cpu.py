"""Decayed sums on all cores; `kernels.reductions.decay` defines them. Threads write to their own trees or rows only."""

from functools import partial

import numpy as np

from kernels.arrays import frozen
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import over_items, ranges
from kernels.graph import Array
from kernels.reductions.constants import BITS
from kernels.reductions.decay.constants import PARTS
from kernels.reductions.decay.factors import Decay, factor


def decayed(distances: Array, thresholds: Array, values: Array, scales: Array, decay: Decay) -> Array:
    """Counts, and the integers of the sums, int64 [k, T, 1 + PARTS A]; `scales` are float64 [A]."""
    totals = np.zeros((len(distances), len(thresholds), 1 + PARTS * len(values)), np.int64)
    arrays = map(frozen, (np.ascontiguousarray(distances), thresholds, np.ascontiguousarray(values), scales))
    work = partial(_decayed, *arrays, decay.kind, decay.parameters, totals)
    over_items(ranges(len(distances), distances.size), lambda trees: work(*trees))
    return totals


def spread(distances: Array, thresholds: Array, amounts: Array, scales: Array, decay: Decay, totals: Array) -> None:
    """See `kernels.reductions.decay.Access.add`; `totals` is its array, and `scales` are float64 [T]."""
    arrays = map(frozen, (np.ascontiguousarray(distances), thresholds, amounts, scales))
    work = partial(_spread, *arrays, decay.kind, decay.parameters, totals)
    over_items(ranges(distances.shape[1], distances.size), lambda rows: work(*rows))


@njit(cache=True, nogil=True)
def _decayed(
    distances: Array, thresholds: Array, values: Array, scales: Array, kind: int, parameters: Array, totals: Array,
    begin: int, end: int,
) -> None:  # fmt: skip
    largest = thresholds[-1]
    for tree in range(begin, end):
        for row, distance in enumerate(distances[tree]):
            if distance < 0 or distance > largest:
                continue
            share = factor(float(distance), kind, parameters)
            first = 0
            while thresholds[first] < distance:
                first += 1
            for place in range(first, len(thresholds)):
                totals[tree, place, 0] += 1
            for column in range(len(values)):
                rest = values[column, row] * share * scales[column]
                for part in range(PARTS):
                    whole = np.floor(rest)
                    rest = (rest - whole) * 2.0**BITS
                    for place in range(first, len(thresholds)):
                        totals[tree, place, 1 + PARTS * column + part] += int(whole)


@njit(cache=True, nogil=True)
def _spread(
    distances: Array, thresholds: Array, amounts: Array, scales: Array, kind: int, parameters: Array, totals: Array,
    begin: int, end: int,
) -> None:  # fmt: skip
    for row in range(begin, end):
        for tree in range(len(distances)):
            distance = distances[tree, row]
            if distance < 0 or distance > thresholds[-1]:
                continue
            share = factor(float(distance), kind, parameters)
            for place in range(len(thresholds)):
                if distance <= thresholds[place]:
                    rest = amounts[tree, place] * share * scales[place]
                    for part in range(PARTS):
                        whole = np.floor(rest)
                        totals[part, place, row] += int(whole)
                        rest = (rest - whole) * 2.0**BITS
