"""All algorithms of examples/ on the emulated GPU: their answers, and their operators."""

import pytest

pytest.importorskip("cupy", reason="EMULATED_GPU=1 is not set")

from kernels.gpu.transfer import to_device
from tests.operators.algorithms import ROWS, algorithm, answers, graphs_of, require_row_of_the_table, require_true, traced


@pytest.mark.parametrize("name", ROWS)
def test_it_gives_the_oracles_answers_with_the_operators_of_the_table(name, monkeypatch):
    monkeypatch.setattr("examples.paths.direction_optimising._AT_ONCE", 0)  # as on the CPU: small graphs are searched both ways
    algorithm(name)
    with traced() as used:
        for graph in graphs_of(name):
            for given, found in answers(name, to_device(graph)):
                require_true(name, graph, given, found)
    require_row_of_the_table(name, used)
