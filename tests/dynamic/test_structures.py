"""All structures behind the one interface: rows B3, B7, B8, E1 to E3 and F4 of docs/dynamic-graphs.md."""

import re
from pathlib import Path

import numpy as np
import pytest

from kernels.graph import Csr
from kernels.library.dynamic import STRUCTURES, BatchRules
from kernels.library.dynamic.contract import as_batch
from tests.counts import NIGHTLY
from tests.dynamic.structures import history, refuse_batches

LIKE = np.empty(0)
RULES = [BatchRules(unique, undirected) for unique in (False, True) for undirected in (False, True)]


@pytest.mark.sampled
@pytest.mark.parametrize("rules", RULES, ids=str)
@pytest.mark.parametrize("name", STRUCTURES)
def test_f4_histories(name, rules):
    """One history of each; at night a hundred."""
    if name == "lsm" and not rules.unique:
        with pytest.raises(ValueError, match="parallel arcs are not supported"):
            history(LIKE, name, rules)
        return
    weight = np.float32 if rules.undirected else np.int32
    for first in range(0, 1000 if NIGHTLY else 10, 10):
        left = history(LIKE, name, rules, weight, first=first)
        if rules.unique:
            expected = history(LIKE, "rebuild", rules, weight, first=first)
            np.testing.assert_array_equal(left.out.indices, expected.out.indices)
            np.testing.assert_array_equal(left.out.weights, expected.out.weights)


def test_without_weights():
    for name in STRUCTURES:
        history(LIKE, name, BatchRules(unique=True), None)


def test_batches_that_are_refused():
    refuse_batches(LIKE)


def test_lsm_newest_entry_wins():
    none = np.zeros(4, np.int64)
    tree = STRUCTURES["lsm"](Csr(none, np.empty(0, np.int32), np.empty(0, np.int64)), BatchRules(unique=True))
    keys = np.array([1 << 32 | 2])
    for weight in (5, 6):
        assert tree.insert(as_batch(LIKE, [1], [2], [weight], np.int64)) == (1, 0, 0)
        assert tree.lookup(keys).all()
        assert tree.csr().weights.tolist() == [weight]
        assert tree.delete(as_batch(LIKE, [1], [2])) == (1, 0, 0)
        assert not tree.lookup(keys).any()


def test_every_row_of_the_checklist_has_a_test():
    root = Path(__file__).parents[2]
    tests = [*(root / "tests" / "dynamic").glob("*.py"), *root.glob("tests/*/test_dynamic.py")]
    names = re.findall(r"def (test_\w+)", "".join(path.read_text(encoding="utf-8") for path in tests))
    page = (root / "docs" / "dynamic-graphs.md").read_text(encoding="utf-8").partition("## Checklist")[2]
    rows = set(re.findall(r"\b[A-F][1-9]\b", page)) - {"A3", "F5"}  # the page says where these are tested
    assert len(rows) > 20
    assert not [row for row in rows if not any(f"_{row.lower()}_" in name for name in names)]
