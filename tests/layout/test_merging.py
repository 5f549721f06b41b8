"""Changes merged into sorted rows, on one core and on ranges of several."""

import numpy as np
import pytest

from kernels.cpu import parallel
from kernels.graph import Csr
from kernels.layout.merging import DELETE, INSERT, KIND, find_places, merge, sort_changes
from tests.layout.merging import check

LIKE = np.empty(0)


@pytest.mark.parametrize("cores", [1, 3])
def test_random_changes(cores, monkeypatch):
    monkeypatch.setattr(parallel, "WORTH_A_THREAD", 1)
    monkeypatch.setattr(parallel, "cores", lambda: cores)
    for seed in range(10):
        check(LIKE, seed, weight=(None, np.int32, np.float32, np.int64)[seed % 4], ordered=seed % 2 == 0)
    check(LIKE, 1, arcs=0)
    check(LIKE, 2, number=0)


def test_parallel_arcs():
    """Deletions take the first of them, an insertion comes behind them, also in the same batch."""
    csr = Csr(np.array([0, 3, 3]), np.array([1, 1, 1], np.int32), np.array([7, 8, 9]))
    rows, heads, kinds = np.zeros(3, np.int32), np.ones(3, np.int32), np.array([INSERT, DELETE, DELETE], KIND)
    changes = sort_changes(rows, heads, kinds, np.array([5, 0, 0]))
    assert changes.order.tolist() == [1, 2, 0]
    made = merge(csr, changes, find_places(csr, changes))
    assert (made.offsets.tolist(), made.indices.tolist(), made.weights.tolist()) == ([0, 2, 2], [1, 1], [9, 5])


def test_a_missing_arc_is_refused():
    csr = Csr(np.array([0, 1, 1]), np.array([1], np.int32), None)
    changes = sort_changes(np.array([0], np.int32), np.array([0], np.int32), np.array([DELETE], KIND), None)
    with pytest.raises(ValueError, match="does not exist"):
        merge(csr, changes, find_places(csr, changes))
