"""Random batches, and the lists that they make, for NumPy and CuPy."""

from collections import Counter

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.library.dynamic.contract import Lists

NAMED = {  # degrees, so that lists end where pages do (pages of 40 words)
    "few": [3, 0, 2, 5], "large": [33, 34, 35, 71, 72, 150, 0, 1], "none": [0] * 30, "many": [4, 9, 0, 1, 30, 7] * 6,
}  # fmt: skip


def host(array):
    return array.get() if is_cupy_array(array) else array


def lists_of_degrees(degrees: list[int], like, weight=np.int32) -> Lists:
    random = np.random.default_rng(sum(degrees))
    total = sum(degrees)
    weights = None if weight is None else np.asarray(random.integers(1, 99, total).astype(weight), like=like)
    offsets = np.asarray(np.cumsum([0, *degrees]), np.int64, like=like)
    return Lists(offsets, np.asarray(random.integers(0, len(degrees), total).astype(np.int32), like=like), weights)


def random_arcs(vertices: int, number: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Skewed, with repetitions, some beyond the vertices."""
    random = np.random.default_rng(seed)
    src, dst = ((vertices * random.random(number) ** power * 1.02).astype(np.int32) for power in (3, 1))
    return src, dst, random.integers(100, 999, number).astype(np.int32)


class Replay:
    """A multiset of arcs, changed one by one."""

    def __init__(self, vertices: int, arcs: list[tuple[int, int]], unique: bool) -> None:
        self.vertices, self.arcs, self.unique = vertices, Counter(arcs), unique

    def degree(self, row: int) -> int:
        return sum(number for (src, _), number in self.arcs.items() if src == row)

    def insert(self, src, dst) -> tuple[int, int, int]:
        applied = duplicates = missing = 0
        for arc in zip(src.tolist(), dst.tolist(), strict=True):
            if max(arc) >= self.vertices:
                missing += 1
            elif self.unique and self.arcs[arc]:
                duplicates += 1
            else:
                self.arcs[arc] += 1
                applied += 1
        return applied, duplicates, missing

    def delete(self, src, dst) -> tuple[int, int, int]:
        applied = missing = 0
        for arc in zip(src.tolist(), dst.tolist(), strict=True):
            found = self.arcs[arc] > 0
            self.arcs[arc] -= found
            applied, missing = applied + found, missing + (not found)
        return applied, 0, missing


def arcs_of(lists: Lists) -> Counter:
    """The multiset of the arcs of lists of rows 0, 1, ..."""
    offsets, heads = host(lists.offsets), host(lists.heads).tolist()
    tails = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)).tolist()
    return Counter(zip(tails, heads, strict=True))
