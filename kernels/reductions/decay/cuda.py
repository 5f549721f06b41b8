"""Decayed sums on a GPU; `kernels.reductions.decay` defines them, and decay.cu has the kernels."""

import cupy
import numpy as np

from kernels.gpu.loader import launch
from kernels.graph import Array
from kernels.reductions.constants import CHUNK, THREADS
from kernels.reductions.decay.constants import PARTS
from kernels.reductions.decay.factors import Decay

_SOURCE = "reductions/decay/decay.cu"


def decayed(distances: Array, thresholds: Array, values: Array, scales: Array, decay: Decay) -> Array:
    """As `cpu.decayed`."""
    trees, given = cupy.ascontiguousarray(distances), cupy.ascontiguousarray(cupy.asarray(values))  # from the host, too
    totals: Array = cupy.zeros((len(trees), len(thresholds), 1 + PARTS * len(given)), np.int64)
    sizes = map(np.int64, (*trees.shape, len(thresholds), len(given)))
    arrays = trees, *map(cupy.asarray, (thresholds, given, scales, decay.parameters))
    items = len(trees) * -(-trees.shape[1] // CHUNK) * THREADS
    launch(_SOURCE, "sum_decayed", THREADS, items, *arrays, np.int64(decay.kind), *sizes, totals, WEIGHT=trees.dtype)
    return totals


def spread(distances: Array, thresholds: Array, amounts: Array, scales: Array, decay: Decay, totals: Array) -> None:
    """As `cpu.spread`."""
    trees = cupy.ascontiguousarray(distances)
    sizes = map(np.int64, (*trees.shape, len(thresholds)))
    arrays = trees, *map(cupy.asarray, (thresholds, amounts, scales, decay.parameters))
    launch(_SOURCE, "spread", THREADS, trees.shape[1], *arrays, np.int64(decay.kind), *sizes, totals, WEIGHT=trees.dtype)
