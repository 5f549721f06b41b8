"""Every kernel fits every supported GPU and has the same answers there; other GPUs are refused before kernels run."""

# ruff: noqa: E402  (the imports below need the emulator)
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="EMULATED_GPU=1 is not set")

from benchmarks.one_gpu.contests import ALGORITHMS
from kernels.bfs import cuda as bfs_cuda
from kernels.gpu.devices import SUPPORTED
from kernels.gpu.loader import to_device
from kernels.pagerank import tiles
from kernels.paths import team
from kernels.reachability import METHODS
from kernels.wcc import cuda as wcc_cuda
from tests.emulator import test_kernels as on_one
from tests.emulator.machine import architectures
from tests.emulator.machine.architectures import ARCHITECTURES, using
from tests.gpu.sanitized import run_over_shards, run_reachability

SLICES = {f"9.0-{blocks}": replace(ARCHITECTURES["9.0"], cluster=blocks) for blocks in (8, 1)}  # by MIG, with smaller clusters
GPUS = {capability: ARCHITECTURES[capability] for capability in SUPPORTED[1:]} | SLICES  # test_kernels.py runs on the first


@pytest.fixture(scope="module", params=GPUS, ids=lambda name: name)
def gpu(request):
    with using(GPUS[request.param]):
        yield request.param


def test_sizes(gpu):
    """Those of 9.0 and 10.0 are what the kernels are tuned for."""
    row, large, small = np.dtype(np.int32), (49152, 163840, 49152), (24576, 32768, 46592)
    expected = {"9.0": (16, *large), "10.0": (16, *large), "12.0": (8, *small), "9.0-8": (8, *large), "9.0-1": (1, *large)}
    _, steps = team._steps("paths/long_paths.cu", "shorten", architectures.CURRENT.number, ROW=row, WEIGHT=row, SUM=row)
    levels = bfs_cuda._team_kernel(row, architectures.CURRENT.number)
    assert levels.blocks == steps["TEAM_BLOCKS"]
    found = (levels.blocks, steps["LIST_BYTES"], tiles.sizes()["shared"], wcc_cuda.tiles("wcc/wcc.cu", row, 1 << 30)[0])
    assert found == expected.get(gpu, (1, *small))


@pytest.mark.parametrize("graph", [on_one.roads(4), on_one.crowd(40)], ids=["roads", "crowd"])
def test_every_kernel(gpu, graph):
    on_device = to_device(graph)
    for kernel in ALGORITHMS:
        on_one.test_algorithms_and_certificates(kernel, graph, on_device)
    on_one.test_the_layout(graph, on_device)
    assert run_reachability(on_device) == 4 * len(METHODS)
    assert run_over_shards(on_device) == 6
