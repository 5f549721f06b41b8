"""Every kernel fits every supported GPU and has the same answers there; other GPUs are refused before kernels run."""

# ruff: noqa: E402  (the imports below need the emulator)
import re
from dataclasses import replace

import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="EMULATED_GPU=1 is not set")

from cuda.bindings import driver

from benchmarks.one_gpu.contests import ALGORITHMS
from kernels.bfs import cuda as bfs_cuda
from kernels.gpu import devices
from kernels.gpu.devices import SUPPORTED
from kernels.gpu.transfer import to_device
from kernels.pagerank import tiles
from kernels.paths import team
from kernels.reachability import METHODS
from kernels.wcc import cuda as wcc_cuda
from pipeline.errors import BadConfig
from pipeline.run import run
from pipeline.runtime.backend import choose, use_gpu
from tests.counts import in_turn
from tests.emulator import test_kernels as on_one
from tests.emulator.machine import architectures
from tests.emulator.machine.architectures import ARCHITECTURES, using
from tests.emulator.test_kernels import crowd, roads
from tests.gpu.sanitized import run_layout_proofs, run_over_shards, run_reachability
from tests.pipeline.test_backend import config

SLICES = {f"9.0-{blocks}": replace(ARCHITECTURES["9.0"], cluster=blocks) for blocks in (8, 1)}  # by MIG, with smaller clusters
GPUS = {capability: ARCHITECTURES[capability] for capability in SUPPORTED[1:]} | SLICES  # test_kernels.py runs on the first


@pytest.fixture(scope="module", params=GPUS, ids=lambda name: name)
def gpu(request):
    with using(GPUS[request.param]):
        yield request.param


NEEDED = "and CuPy uses CUDA 13.0, which needs driver 580 or later"
REFUSED = r"GPU \d+, emulated, has compute capability 7\.5, and the kernels run on 8\.0, 8\.6, 8\.9, 9\.0, 10\.0, 12\.0"


def test_another_gpu_is_refused_before_a_run_begins(tmp_path, caplog):
    caplog.set_level("INFO")
    with using(ARCHITECTURES["7.5"]):
        with pytest.raises(BadConfig, match=f"backend: a GPU is requested, but {REFUSED}"):
            run(config(tmp_path, backend="gpu"))
        assert not (tmp_path / "out").exists()
        with pytest.raises(BadConfig, match=REFUSED):
            use_gpu()
        with pytest.raises(RuntimeError, match=REFUSED):
            wcc_cuda.components(to_device(roads(2)))
        facts = run(config(tmp_path)).facts
    assert (facts["backend"], re.fullmatch(REFUSED, facts["machine"]["gpu_not_used"]) is None) == ("cpu", False)
    assert re.search(f"backend: cpu, because {REFUSED}", caplog.text)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"cuDriverGetVersion": 12040}, f"the NVIDIA driver is too old: it supports CUDA 12.4, {NEEDED}"),
        ({"cuDriverGetVersion": 0}, f"no NVIDIA driver is installed, {NEEDED}"),
        ({"cuDeviceGetCount": 0}, "CUDA finds no GPU"),
    ],
)
def test_an_old_driver_is_named(changed, message, monkeypatch):
    for name, value in changed.items():
        monkeypatch.setattr(driver, name, lambda value=value: (driver.CUresult.CUDA_SUCCESS, value))
    devices._no_cuda.cache_clear()
    try:
        with pytest.raises(BadConfig, match=re.escape(f"backend: a GPU is requested, but {message}")):
            choose("gpu")
        assert choose("auto") == "cpu"
    finally:
        devices._no_cuda.cache_clear()


def test_sizes(gpu):
    """Those of 9.0 and 10.0 are what the kernels are tuned for."""
    row, large, small = np.dtype(np.int32), (49152, 163840, 49152), (24576, 32768, 46464)
    expected = {"9.0": (16, *large), "10.0": (16, *large), "12.0": (8, *small), "9.0-8": (8, *large), "9.0-1": (1, *large)}
    _, steps = team._steps("paths/long_paths.cu", "shorten", architectures.CURRENT.number, ROW=row, WEIGHT=row, SUM=row)
    levels = bfs_cuda._team_kernel(row, architectures.CURRENT.number)
    assert levels.blocks == steps["TEAM_BLOCKS"]
    found = (levels.blocks, steps["LIST_BYTES"], tiles.sizes()["shared"], wcc_cuda.tiles("wcc/wcc.cu", row, 1 << 30)[0])
    assert found == expected.get(gpu, (1, *small))


@pytest.mark.sampled  # `make nightly` runs all of test_kernels.py on each GPU
@pytest.mark.parametrize(
    ("gpu", "make"), in_turn(2, [*GPUS], [roads, crowd]), indirect=["gpu"], ids=lambda of: getattr(of, "__name__", of)
)
def test_every_kernel(gpu, make):
    graph = make(40 if make is crowd else 4)
    on_device, whole = to_device(graph), gpu in SUPPORTED
    for kernel in ALGORITHMS:
        if whole or kernel.name in {"bfs", "sssp"}:  # only these have clusters
            on_one.test_algorithms_and_certificates(kernel, graph, on_device)
    if not whole:
        return
    on_one.test_the_layout(graph, on_device)
    assert run_reachability(on_device) == 4 * len(METHODS)
    assert run_over_shards(on_device) == 6
    run_layout_proofs()
