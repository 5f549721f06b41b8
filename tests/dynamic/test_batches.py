"""Batches of insertions and deletions in slotted pages: row B7 of docs/dynamic-graphs.md."""

import numpy as np
import pytest

from kernels.cpu import parallel
from kernels.dynamic.pages.invariants import require_valid
from tests.dynamic.batches import run
from tests.dynamic.cases import NAMED


@pytest.mark.parametrize("unique", [False, True])
@pytest.mark.parametrize("name", NAMED)
def test_b7_batches(name, unique, monkeypatch):
    alone = run(np.empty(0), name, unique, check=require_valid)
    monkeypatch.setattr(parallel, "WORTH_A_THREAD", 1)
    monkeypatch.setattr(parallel, "cores", lambda: 3)
    for one, other in zip(alone, run(np.empty(0), name, unique), strict=True):
        np.testing.assert_array_equal(one, other)
