"""The proofs of arcs of streets and of split graphs reject others: rows that are lost, added, moved, renamed, weighed anew."""

import pytest

from tests.counts import NIGHTLY
from tests.pipeline.turns.mutants import KINDS, PART, accepted, mutants_of

pytestmark = pytest.mark.sampled
MUTANTS = 100_000 if NIGHTLY else 300


@pytest.mark.parametrize("kind", KINDS)
def test_no_mutant_is_accepted(tmp_path, kind):
    for seed in range(0, MUTANTS, PART):
        (folder := tmp_path / str(seed)).mkdir()
        assert accepted(mutants_of(kind, folder, seed), min(MUTANTS, PART)) == (min(MUTANTS, PART), [])
