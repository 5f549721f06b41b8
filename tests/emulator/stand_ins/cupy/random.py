"""Random numbers, which differ from CuPy's."""

import numpy as np

from cupy._functions import on_device


class Generator:
    def __init__(self, seed):
        self._generator = np.random.default_rng(seed)

    def random(self, size=None, dtype=np.float64):
        return on_device(self._generator.random(size, dtype))

    def integers(self, low, high=None, size=None, dtype=np.int64, endpoint=False):
        return on_device(self._generator.integers(low, high, size, dtype, endpoint))


def default_rng(seed=None):
    return Generator(seed)
