"""Sweeps in the order of tiles, on the emulated GPU; tests/gpu/test_tiled_sweeps.py has more graphs."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("cupy", reason="EMULATED_GPU=1 is not set")

from kernels.gpu.loader import ROOT
from kernels.gpu.transfer import to_device
from kernels.library.operators.gpu import compiled
from tests.gpu.test_tiled_sweeps import (  # noqa: F401
    swept,
    test_any_graph,
    test_arrays_that_share_memory_are_not_held,
    test_failures,
    test_length_of_segments,
    test_one_form_of_a_direction_serves_all_functions,
    test_the_order_is_chosen_by_rules,
    test_tiles_of_the_largest_size_and_many_bands,
)
from tests.operators import cases, tile_cases


def test_kernels_compile_without_spills(monkeypatch):
    """With NVRTC, as a real GPU would."""
    texts, made = list[tuple[str, str]](), compiled.kernel_of

    def record(source, name, device, generated="", **more):
        if name == "sweep_tiles":
            texts.append((source, generated))
        return made(source, name, device, generated=generated, **more)

    monkeypatch.setattr(compiled, "kernel_of", record)
    monkeypatch.setattr("kernels.library.operators.plan._PLANS", {})
    graph = to_device(cases.with_limits(np.int64))
    for frontier in tile_cases.frontiers(graph)[:2]:
        tile_cases.on_tiles(graph, "out", frontier)
    assert len(texts) == 18
    done = subprocess.run(
        [sys.executable, "-m", "tests.operators.compiling"], input=json.dumps(texts), text=True, capture_output=True,
        check=True, cwd=ROOT.parent, env=os.environ | {"PYTHONPATH": str(ROOT.parent)},
    )  # fmt: skip
    assert not done.stdout
