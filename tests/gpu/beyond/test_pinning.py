"""Layouts in ranges of rows where the system does not pin the memory that they ask for: the CPU lays out."""

# ruff: noqa: E402  (the imports below need CuPy, and what the pipeline needs in addition)
import logging

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")
for module in ("fsspec", "pyarrow", "pydantic", "jinja2"):
    pytest.importorskip(module)

import pyarrow as pa
import pyarrow.parquet as pq

from kernels.distributed.gpu import memory
from kernels.gpu.transfer import empty_pinned
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.ingest import ingest
from pipeline.runtime import beyond_gpu
from pipeline.steps.layout import lay_out
from pipeline.steps.parallel import Parallels
from pipeline.steps.runtime import Runtime
from tests.gpu.beyond.test_arcs_on_host import laid_out_in_ranges, source  # noqa: F401

pytestmark = pytest.mark.sampled
ALLOCATIONS = ("alloc_pinned_memory", "PinnedMemory")
NO_MEMORY, INVALID_VALUE = 2, 1


@pytest.fixture
def pinned(monkeypatch):
    """Names of the allocations of pinned memory, in their order. Number `failing[0]` of them fails."""
    monkeypatch.setattr("kernels.cpu.parallel.cores", lambda: 1)  # each thread has memory of its own
    names, failing = list[str](), [-1]
    for name in ALLOCATIONS:
        true = getattr(cupy.cuda, name)

        def allocate(size, name=name, true=true):
            names.append(name)
            if len(names) - 1 == failing[0]:
                raise cupy.cuda.runtime.CUDARuntimeError(NO_MEMORY)
            return true(size)

        monkeypatch.setattr(cupy.cuda, name, allocate)
    return names, failing


@pytest.mark.usefixtures("laid_out_in_ranges")
def test_a_layout_that_cannot_pin_memory_is_the_cpus(pinned, tmp_path, caplog):
    """Whichever of its allocations fails."""
    names, failing = pinned
    edges = ingest(source(tmp_path, directed=True, edges=300, vertices=50), tmp_path)
    expected = lay_out(edges, LayoutConfig(), Runtime(tmp_path / "cpu"))
    assert lay_out(edges, LayoutConfig(), Runtime(tmp_path / "whole", "gpu")).facts["arcs_in"] == "host"
    assert set(names) == set(ALLOCATIONS)
    for number in range(len(names)):
        caplog.clear()
        failing[0] = number
        names.clear()
        found = lay_out(edges, LayoutConfig(), Runtime(tmp_path / f"gpu-{number}", "gpu"))
        assert "graph: laid out on the CPU:" in caplog.text and "of the host's memory cannot be pinned" in caplog.text
        assert (found.facts["backend"], found.manifest.files) == ("cpu", expected.manifest.files)


@pytest.mark.parametrize("name", ALLOCATIONS)
def test_another_error_of_an_allocation_is_raised(name, monkeypatch):
    def fail(size):
        raise cupy.cuda.runtime.CUDARuntimeError(INVALID_VALUE)

    monkeypatch.setattr(cupy.cuda, name, fail)
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError):
        empty_pinned(10, "u1") if name == "alloc_pinned_memory" else memory.zeros(10, "u1", "host")


def test_the_cpu_begins_without_pinned_memory_that_nothing_uses(monkeypatch):
    monkeypatch.setattr(beyond_gpu, "free_memory", lambda *of: 0 if of == ("gpu",) else 2**40)
    pool = cupy.get_default_pinned_memory_pool()

    def make(backend, arcs_in):
        if backend == "cpu":
            return pool.n_free_blocks()
        empty_pinned(1000, "u1")
        raise MemoryError("of the test")

    assert beyond_gpu.on_gpu_or_cpu("graph: laid out", 1, 1, make) == 0


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(("ids", "weight", "rule", "needed"), [
    (1, None, "keep", 8 + 8),
    (1, None, "lightest", 8 + 32),
    (1, np.int32, "lightest", 12 + 40),
    (2**33, np.int32, "keep", 20 + 16),
    (2**33, np.float64, "keep", 24 + 24),
    (2**33, np.float64, "lightest", 24 + 48),
])  # fmt: skip
def test_what_a_layout_takes_of_the_hosts_memory(ids, weight, rule, needed, directed, tmp_path, monkeypatch, caplog):
    """Bytes for each edge, of the types that it has; with less, the CPU reads the edges from the disk."""
    caplog.set_level(logging.INFO)
    random, edges = np.random.default_rng(0), 2000
    columns = dict(zip(("src", "dst"), ids * random.integers(0, 300, (2, edges)), strict=True))
    columns |= {} if weight is None else {"weight": random.integers(1, 9, edges).astype(weight)}
    pq.write_table(pa.table(columns), tmp_path / "graph.parquet")
    stored = ingest(GraphConfig(source=str(tmp_path / "graph.parquet"), directed=directed), tmp_path)
    files = {}
    for backend, free in (("gpu", needed * edges), ("cpu", needed * edges - 1)):
        caplog.clear()
        monkeypatch.setattr(beyond_gpu, "free_memory", lambda *of, free=free: 0 if of == ("gpu",) else free)
        monkeypatch.setattr("pipeline.runtime.memory.free_memory", lambda of="cpu", free=free: 2**40 if of == "gpu" else free + 1)
        found = lay_out(stored, LayoutConfig(), Runtime(tmp_path / backend, "gpu"), parallel=Parallels(rule=rule))
        assert found.facts["backend"] == backend
        assert ("graph: laid out from the disk" in caplog.text) == (backend == "cpu")
        files[backend] = found.manifest.files
    assert files["gpu"] == files["cpu"]
