"""Batches of insertions and deletions in slotted pages: row B7 of docs/dynamic-graphs.md."""

import numpy as np
import pytest

from kernels.cpu import parallel
from kernels.graph import Csr
from kernels.library.dynamic import BatchRules
from kernels.library.dynamic.arrays import keys_of, owners_of
from kernels.library.dynamic.contract import as_batch
from kernels.library.dynamic.pages.invariants import require_valid
from kernels.library.dynamic.structures.pages import SlottedPages
from tests.counts import NIGHTLY, of_the_day
from tests.dynamic.batches import run
from tests.dynamic.cases import NAMED

LIKE, SIZES = np.empty(0), range(256, 2049, 256)


@pytest.mark.parametrize("unique", [False, True])
@pytest.mark.parametrize("name", NAMED)
def test_b7_batches(name, unique, monkeypatch):
    alone = run(LIKE, name, unique, check=require_valid)
    monkeypatch.setattr(parallel, "WORTH_A_THREAD", 1)
    monkeypatch.setattr(parallel, "cores", lambda: 3)
    for one, other in zip(alone, run(LIKE, name, unique), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.sampled
@pytest.mark.parametrize("size", of_the_day(SIZES))
def test_b7_large_batches(size):
    """A million arcs at night, into pages of every size, and most of them out again."""
    number, rows = 10**6 if NIGHTLY else 10**5, 20_000
    random = np.random.default_rng(size)
    none = np.zeros(rows + 1, np.int64)
    graph = SlottedPages.from_csr(Csr(none, np.empty(0, np.int32), None), BatchRules(), size)
    src, dst = (rows * random.random((2, number)) ** ((3,), (1,))).astype(np.int32)
    assert graph.insert(as_batch(LIKE, src, dst)) == (number, 0, 0)
    require_valid(graph.store)
    assert graph.delete(as_batch(LIKE, src[: number // 3], dst[: number // 3])) == (number // 3, 0, 0)
    require_valid(graph.store)
    csr = graph.csr()
    left = keys_of(src[number // 3 :], dst[number // 3 :])
    np.testing.assert_array_equal(np.sort(keys_of(owners_of(csr.offsets), csr.indices)), np.sort(left))


def test_b7_a_batch_without_weights_is_refused():
    none = np.zeros(2, np.int64)
    graph = SlottedPages.from_csr(Csr(none, np.empty(0, np.int32), np.empty(0, np.int32)), BatchRules())
    with pytest.raises(ValueError, match="arcs without weights for pages with weights"):
        graph.insert(as_batch(LIKE, [0], [0]))
