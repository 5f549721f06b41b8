"""Facts are read with their types; a manifest without one is damaged."""

from __future__ import annotations

import pytest

from pipeline.errors import Damaged
from pipeline.store.facts import EdgeFacts, StageFacts
from pipeline.store.manifest import make


def test_facts_of_a_manifest(tmp_path):
    edges = make(tmp_path / "edges", "edges", {}, {}, lambda _: {"edges": 3, "directed": True, "weight": None, "seconds": 1.0})
    assert EdgeFacts.of(edges) == EdgeFacts(edges=3, directed=True, weight=None)
    answer = make(tmp_path / "bfs", "bfs", {}, {}, lambda _: {"weight": "int32", "sources": [4, 5]})
    assert StageFacts.of(answer).num_answers == 2


def test_a_missing_fact_is_damage(tmp_path):
    edges = make(tmp_path / "edges", "edges", {}, {}, lambda _: {"edges": 3, "directed": True})
    with pytest.raises(Damaged, match=r"edges: its manifest has no fact 'weight'"):
        EdgeFacts.of(edges)
