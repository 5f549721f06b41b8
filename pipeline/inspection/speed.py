"""How fast a core of this machine is now, compared with the one on which the rates of estimates were measured."""

import time
from functools import cache

import numpy as np

# CPU seconds of `_compute` on a core of the machine of `pipeline.inspection.rates`.
REFERENCE = 0.042
_REPEATS = 5
_SLOWEST, _FASTEST = 4.0, 0.25


@cache
def slowness() -> float:
    """How many times as long a core takes now, the median of a few trials: it sorts, and reads memory at random places."""
    random = np.random.default_rng(1)
    values, places = random.random(1 << 18), random.integers(0, 1 << 21, 1 << 20)
    return float(np.clip(np.median([_seconds(values, places) for _ in range(_REPEATS)]) / REFERENCE, _FASTEST, _SLOWEST))


def _seconds(values: np.ndarray, places: np.ndarray) -> float:
    """CPU seconds of this thread, which hardly depend on what other processes do."""
    begun = time.thread_time()
    far = np.zeros(1 << 21, np.int64)
    np.sort(values)
    far[places] += 1
    int(far.cumsum()[places].sum())
    return time.thread_time() - begun
