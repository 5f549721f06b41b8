"""Every certificate refuses on the emulated GPU what it refuses on a CPU, for the same reason, and raises nothing."""

# ruff: noqa: E402  (the imports below need the emulator)
import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="EMULATED_GPU=1 is not set")

from kernels.gpu.transfer import to_device
from kernels.hierarchy import build_hierarchy
from kernels.trees import cuda
from tests.certificates.wrong_answers import CERTIFIED, NO_ANSWERS, proved, weighted, with_float, with_integer
from tests.gpu.roads.test_trees import (  # noqa: F401
    test_a_source_that_an_arc_of_length_zero_enters_needs_no_other_row_without_an_arc,
    test_sums_of_every_wrong_length_are_refused,
    test_sums_that_do_not_fit_32_bits,
)

EVERY = 3  # of the wrong answers that a certificate is shown for one graph


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("name", CERTIFIED)
def test_a_refusal_is_that_of_the_cpu(name, dtype, directed):
    graph = weighted(dtype, directed=directed)
    on_device = to_device(graph)
    truth, certify = proved(graph, name)
    assert certify(on_device, to_device(truth)).holds
    refused = 0
    for mutant in [*with_float(name, truth), *list(with_integer(truth))[::EVERY]]:
        found, expected = certify(on_device, to_device(mutant)), certify(graph, mutant)
        assert found.holds == expected.holds, (mutant, found, expected)
        if "betweenness" not in name:  # its reason may name numbers that were drawn
            assert found.reason == expected.reason, mutant
        refused += not found.holds
    assert refused


def kept(returned, arguments):
    """The lengths that a function returned, or wrote to its last argument but one."""
    return arguments[-2] if returned is None else returned


def by_row(lengths, graph):
    return lengths.reshape(graph.num_vertices, -1).view(np.float64)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_proof_of_swept_trees_refuses_what_is_no_length(dtype, monkeypatch):
    graph = weighted(dtype, directed=False)
    on_device, hierarchy = to_device(graph), to_device(build_hierarchy(graph))
    sources, lane = np.zeros(2, graph.rows_by_id.dtype), 1
    # What the proof reads was written last by the sweep or, where sums round, by what follows it and would mend a wrong length.
    last = "_sweep" if hierarchy.exact else "_add_outwards"
    write = getattr(cuda, last)
    written: list = []
    with monkeypatch.context() as patch:
        patch.setattr(cuda, last, lambda *arguments: written.append(kept(write(*arguments), arguments)) or written[-1])
        expected = cuda.solve(on_device, hierarchy, sources, np.dtype(np.float64), True)
    assert not (expected.loose | expected.waiting).any()
    right = by_row(written[0], graph).get()
    for row in (0, 2, 6):
        place = int(hierarchy.positions[row])
        for value in NO_ANSWERS:

            def wrong(*arguments, place=place, value=value):
                lengths = kept(write(*arguments), arguments)
                by_row(lengths, graph)[place, lane] = value
                return lengths

            with monkeypatch.context() as patch:
                patch.setattr(cuda, last, wrong)
                found = cuda.solve(on_device, hierarchy, sources, np.dtype(np.float64), True)
            same = right[place, lane].tobytes() == np.float64(value).tobytes()
            assert (found.loose | found.waiting).tolist() == [False, not same], (row, value)
