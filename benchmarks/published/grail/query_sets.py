"""Sets of pairs of rows: random ones, as in the thesis, only reachable ones, and half of each."""

import numpy as np

from kernels.graph import Array, Csr

SETS = ("random", "positive", "mixed")
_MOST_STEPS = 1000  # of a walk, which does not end by itself on a cycle


def pairs(kind: str, out: Csr, count: int, seed: int = 2) -> tuple[Array, Array]:
    """Draw `count` pairs of rows, src and dst, int64.

    Args:
        kind: One of SETS. A positive pair is a random row with arcs, and a row of a random walk from it to a row without arcs,
            each of the walk's rows with the same probability; few pairs are far apart.
        out: The arcs of NumPy, of which there is at least one unless the pairs are random.
    """
    random, num_rows = np.random.default_rng(seed), len(out.offsets) - 1
    if kind == "random":
        src, dst = random.integers(0, num_rows, (2, count))
        return src, dst
    if kind == "positive":
        return _walks(out, count, random)
    halves = pairs("random", out, count // 2, seed), _walks(out, count - count // 2, random)
    order = random.permutation(count)
    src, dst = (np.concatenate(ends)[order] for ends in zip(*halves, strict=True))
    return src, dst


def _walks(out: Csr, count: int, random: np.random.Generator) -> tuple[Array, Array]:
    degrees = np.diff(out.offsets)
    src = random.choice(np.flatnonzero(degrees), count)
    dst, now, going = src.copy(), src, np.arange(count)
    for step in range(1, _MOST_STEPS):
        now = out.indices[out.offsets[now] + (random.random(len(now)) * degrees[now]).astype(np.int64)].astype(np.int64)
        chosen = random.random(len(now)) * step < 1  # so that each row of the walk stays with the same probability
        dst[going[chosen]] = now[chosen]
        on = degrees[now] > 0
        now, going = now[on], going[on]
        if not len(going):
            break
    return src, dst
