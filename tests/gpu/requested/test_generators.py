"""Random graphs on the GPU: the CPU's edges."""

# ruff: noqa: E402  (the imports below need CuPy)
import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from kernels.generators import Drawing, ends, graph500, weights
from kernels.generators.distinct import distinct_edges
from kernels.generators.social import social
from tests.gpu.inputs import poison

DRAWINGS = {"graph500": lambda: graph500(7, 5), "social": lambda: social(150, 2, 12, 2.5, 0.4)}


def check(drawing: Drawing) -> None:
    """All edges, those of some numbers, and the distinct ones, also in pieces."""
    for begin, end in ((0, drawing.num_edges), (3, 3), (11, 300)):
        poison()
        for of_device, expected in zip(ends(drawing, begin, end, cupy), ends(drawing, begin, end), strict=True):
            assert cupy.asnumpy(of_device).tolist() == expected.tolist()
    expected = [*distinct_edges(drawing)]
    for piece in (200, 1 << 26):
        found = [*distinct_edges(drawing, cupy, piece)]
        assert (len(found) > 1) == (piece == 200)
        for end in range(2):
            joined = np.concatenate([cupy.asnumpy(part[end]) for part in found])
            assert joined.tolist() == np.concatenate([part[end] for part in expected]).tolist()
    src, dst = expected[0]
    assert cupy.asnumpy(weights(cupy.asarray(src), cupy.asarray(dst), 9)).tolist() == weights(src, dst, 9).tolist()


@pytest.mark.parametrize("name", DRAWINGS)
def test_the_edges_are_those_of_the_cpu(name):
    check(DRAWINGS[name]())
