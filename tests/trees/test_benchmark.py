"""The benchmark of trees: other libraries, as far as they are installed."""

import math

import numpy as np

from benchmarks.generators import grid_edges
from benchmarks.graphs import graph_of_edges
from benchmarks.trees import peers
from kernels.trees import trees


def test_a_library_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setattr(peers, "find_spec", lambda name: None)
    src, dst = grid_edges(4)
    graph, rows = graph_of_edges(src, dst, np.arange(len(src)), 16), np.arange(3)
    expected = trees(graph, rows).distances[:, rows]
    scipy, *missing = peers.measure(graph, np.zeros((2, 16), np.float32), rows, rows, expected)
    assert scipy[0].startswith("scipy ") and scipy[2] > 0
    assert [what for what, _, _ in missing] == ["pyroutingkit: not installed", "pandana: not installed"]
    assert all(math.isnan(milliseconds) for *_, milliseconds in missing)
