"""Facts are read with their types; a manifest with other fields is damaged."""

import pytest

from pipeline.errors import Damaged
from pipeline.store.facts import GraphFacts, ProofFacts, StageFacts
from pipeline.store.manifest import make
from tests.steps import path_facts

ANSWER = {"backend": "cpu", "weight": None, "rows": 4, "seconds": 0.5, "sources": [4, 5]}


def test_facts_are_read_as_they_were_written(tmp_path):
    graph = make(tmp_path / "graph", "graph", {}, {}, lambda _: path_facts(9).stored())
    assert GraphFacts.of(graph) == path_facts(9)
    assert GraphFacts.of(graph).stored() == graph.facts
    assert GraphFacts.of(graph).shards[0].sizes("in").arcs == 16
    assert "in" not in graph.facts


def test_null_is_written_and_an_absent_field_is_not(tmp_path):
    answer = make(tmp_path / "bfs", "bfs", {}, {}, lambda _: StageFacts(**ANSWER).stored())
    assert answer.facts == ANSWER
    assert StageFacts.of(answer).num_answers == 2
    proof = ProofFacts(stage="bfs", backend="cpu", holds=True, rules=[], seconds=0.0, oracle=None)
    assert proof.stored() == {"stage": "bfs", "backend": "cpu", "holds": True, "rules": [], "seconds": 0.0, "oracle": None}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": "4"}, "'rows' is invalid: Input should be a valid integer"),
        ({"sources": [4, None]}, r"'sources\.1' is invalid"),
        ({"source": 4}, "'source' is invalid: Extra inputs are not permitted"),
    ],
)
def test_a_fact_of_another_name_or_type_is_damage(change, message, tmp_path):
    answer = make(tmp_path / "bfs", "bfs", {}, {}, lambda _: ANSWER | change)
    with pytest.raises(Damaged, match=f"bfs: its manifest's fact {message}"):
        StageFacts.of(answer)


def test_a_missing_fact_is_damage(tmp_path):
    answer = make(tmp_path / "bfs", "bfs", {}, {}, lambda _: {"rows": 4, "seconds": 0.5, "weight": None})
    with pytest.raises(Damaged, match="bfs: its manifest's fact 'backend' is invalid: Field required"):
        StageFacts.of(answer)
