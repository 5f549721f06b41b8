"""The calls that NetworkX's own tests make, answered by runs: each difference is a convention that the documentation states."""

import os
import pickle
import subprocess
import sys
from collections import Counter
from pathlib import Path

import networkx
import pytest

from tests.counts import NIGHTLY, first_of_the_day
from tests.project.docs import ROOT
from tests.recorded.conventions import Convention
from tests.recorded.questions import FAMILIES, Question, Unasked, question_of
from tests.recorded.replaying import replay

TESTS = Path(networkx.__file__).parent / "algorithms"
FILES = (
    "link_analysis/tests/test_pagerank.py", "centrality/tests/test_betweenness_centrality.py",
    "centrality/tests/test_closeness_centrality.py", "components/tests", "flow/tests/test_maxflow.py", "shortest_paths/tests",
    "tree/tests/test_mst.py",
)  # fmt: skip
EVERY = 1 if NIGHTLY else 40  # of the questions; others every day
pytestmark = pytest.mark.sampled


@pytest.fixture(scope="module")
def calls(tmp_path_factory) -> list[tuple[str, bytes]]:
    file = tmp_path_factory.mktemp("recorded") / "calls"
    command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "-p", "no:cacheprovider", "-p", "tests.recorded.recorder"]
    environment = os.environ | {"RECORDED": str(file), "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(
        [*command, *(str(TESTS / name) for name in FILES)], env=environment, cwd=file.parent, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr
    return pickle.loads(file.read_bytes())


def test_runs_answer_what_the_tests_of_networkx_ask(calls, tmp_path, capsys):
    questions, outcomes, failures = dict[tuple, Question](), Counter[str](), list[str]()
    for name, asked in calls:
        try:
            if not asked:
                raise Unasked("an argument is a function")
            question = question_of(name, pickle.loads(asked))
            questions.setdefault(question.key, question)
        except Unasked as reason:
            outcomes[f"not asked: {reason}"] += 1
    assert {question.family for question in questions.values()} == {*FAMILIES.values()}
    for number, question in enumerate([*questions.values()][first_of_the_day(EVERY) :: EVERY]):
        try:
            conventions = replay(question, tmp_path / str(number))
            outcomes[", ".join(sorted(convention.name for convention in conventions)) or "equal"] += 1
        except Unasked as reason:
            outcomes[f"not asked: {reason}"] += 1
        except Exception as error:
            failures.append(f"{question.family}, {question.graph}, {question.stated()}: {type(error).__name__}: {error}")
    counts = [f"{count:5} {name}" for name, count in outcomes.most_common()]
    with capsys.disabled():
        print("", f"{len(calls)} calls, {len(questions)} questions:", *counts, sep="\n")
    assert not failures, "\n".join(failures)
    assert outcomes["equal"]


@pytest.mark.parametrize("convention", Convention, ids=lambda convention: convention.name)
def test_the_documentation_states_each_convention(convention):
    file, sentence = convention.value
    assert sentence in " ".join((ROOT / file).read_text("utf-8").split())
