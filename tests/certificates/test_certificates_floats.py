"""No certificate takes a float for another one that compares equal, or for none: NaN, -0.0, negative, infinite, denormal."""

import numpy as np
import pytest

from kernels.arrays import frozen
from kernels.trees import cpu
from kernels.trees.constants import LANES
from kernels.trees.proof.cpu import prove
from tests.certificates.wrong_answers import CERTIFIED, NO_ANSWERS, proved, weighted, with_float
from tests.sharded.answers import CERTIFY, verdicts

DTYPES = (np.float32, np.float64)


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CERTIFIED)
def test_no_certificate_accepts_another_float(name, dtype, directed, zeros):
    graph = weighted(dtype, zeros=zeros and "betweenness" not in name, directed=directed)
    truth, certify = proved(graph, name)
    verdict = certify(graph, truth)
    assert verdict.holds, verdict.reason
    mutants = [*with_float(name, truth)]
    assert mutants or name in ("bfs", "wcc", "scc", "reachability", "communities", "closure", "triangles", "cores", "cdlp")
    for mutant in mutants:
        assert certify(graph, mutant).reason, mutant
    if mutants and name in CERTIFY:
        assert not any(verdict.holds for verdict in verdicts(name, graph, np.array([0, 3, graph.num_vertices]), mutants))


@pytest.mark.parametrize("dtype", [*DTYPES, np.int32])
@pytest.mark.parametrize("place", [0, 2, 6])
def test_no_proof_of_swept_trees_accepts_another_length(place, dtype):
    """The lanes have the same tree; one length of one lane is wrong, which lets no other lane fail."""
    graph = weighted(dtype)
    truth, _ = proved(graph, "sssp")
    sums = truth.distance.dtype if np.dtype(dtype).kind == "f" else np.dtype(np.int32)
    kind, far = cpu._LENGTHS[sums.str[1:]]
    right = np.where(truth.distance < 0, far, truth.distance).astype(kind)
    into = cpu._arcs(graph.into, graph.into.indices, sums)
    wrong = NO_ANSWERS if sums.kind == "f" else (0, 1, 2**31 - 1, 2**31, 2**32 - 1)
    for number, value in enumerate(wrong):
        lengths, lane = np.repeat(right, LANES), number % LANES
        lengths[place * LANES + lane] = value
        outputs = np.empty((LANES, graph.num_vertices), sums), np.empty((LANES, graph.num_vertices), np.int32)
        sources, numbers = frozen(np.zeros(LANES, np.int32)), frozen(np.arange(LANES))
        loose, waiting = prove(into, sources, kind(far), lengths, numbers, *outputs)
        same = lengths.tobytes() == np.repeat(right, LANES).tobytes()
        assert np.flatnonzero(loose | (waiting != 0)).tolist() == ([] if same else [lane]), (place, value)
