"""Graphs that change, on the emulated GPU, against the CPU's answers."""

# ruff: noqa: E402  (the imports below need the emulator)
import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="EMULATED_GPU=1 is not set")

from tests.layout import merging


@pytest.mark.parametrize(("weight", "ordered"), [(None, True), (np.int32, False), (np.float64, True)])
def test_merged_changes(weight, ordered):
    merging.check(cupy.empty(0), 1, weight=weight, ordered=ordered)
    merging.check(cupy.empty(0), 2, vertices=300, arcs=20000, number=5000, weight=weight, ordered=ordered)
    merging.check(cupy.empty(0), 3, arcs=0, weight=weight, ordered=ordered)
