"""The choice of backend, and the error on a machine without a GPU."""

import numpy as np
import pytest

from kernels.gpu import devices
from kernels.gpu.devices import device_count
from pipeline.config.loading import run_config
from pipeline.errors import BadConfig
from pipeline.run import run
from pipeline.runtime.backend import choose, wait_for
from pipeline.runtime.threads import map_in_order
from pipeline.steps.publication.facts import described_machine
from pipeline.store import manifest
from pipeline.store.graph import open_graph
from tests.graphs import FIGURE_1
from tests.reports import csv_of

without_gpu = pytest.mark.skipif(device_count() > 0, reason="there is a GPU")


def config(folder, **settings):
    (folder / "graph.csv").write_text(csv_of(FIGURE_1))
    graph = {"source": str(folder / "graph.csv"), "directed": False}
    return run_config("test", graph=graph, output=folder / "out", **settings)


def test_auto_chooses_the_gpu_if_there_is_one(tmp_path):
    assert config(tmp_path).backend == "auto"
    assert choose("auto") == ("gpu" if device_count() else "cpu")
    assert choose("cpu") == "cpu"


@pytest.mark.parametrize("backend", ["GPU", "cuda", "", 0, None])
def test_an_unknown_backend_is_refused(backend, tmp_path):
    with pytest.raises(BadConfig, match=r"test: backend: Input should be 'auto', 'cpu' or 'gpu'"):
        config(tmp_path, backend=backend)


def test_a_gpu_has_the_name_before_the_first_zero_byte(monkeypatch):
    answer = b"NVIDIA H200" + bytes(54) + 63 * b" "  # what a driver wrote into the 128 bytes that it was given
    monkeypatch.setattr(devices, "_ask", lambda *_: answer)
    assert devices.name_of(0) == "NVIDIA H200"


@without_gpu
def test_auto_says_why_it_computes_on_the_cpu(tmp_path, caplog):
    caplog.set_level("INFO")
    reason = "CuPy is not installed (in the clone: make .venv/gpu)"
    assert run(config(tmp_path)).facts["machine"]["gpu_not_used"] == reason
    assert f"backend: cpu, because {reason}" in caplog.text


@without_gpu
def test_a_missing_gpu_is_reported_before_any_work(tmp_path):
    with pytest.raises(BadConfig, match=r"backend: a GPU is requested, but CuPy is not installed .*make .venv/gpu"):
        run(config(tmp_path, backend="gpu"))
    assert not (tmp_path / "out").exists()


def test_every_step_and_the_run_record_their_backend(tmp_path):
    published = run(config(tmp_path, backend="cpu", oracle=True))
    assert "gpu_not_used" not in published.facts["machine"]
    facts = published.facts
    assert facts["backend"] == "cpu"
    for name, step in facts["steps"].items():
        assert step.get("backend") == (None if name in ("edges", "forest", "report", "vertices", "arcs") else "cpu"), name
    assert all(proof["backend"] == "cpu" for proof in facts["proofs"].values())
    assert "Backend: cpu." in (published.path / "report.html").read_text(encoding="utf-8")
    assert not {"gpu"} & set(facts["machine"]) and not {"cupy", "cuda", "driver"} & set(facts["versions"])
    assert "GPU" not in described_machine("cpu")


def test_the_cpu_opens_a_graph_as_numpy_arrays(tmp_path):
    run(config(tmp_path, backend="cpu"))
    graph = open_graph(manifest.read(tmp_path / "out" / "steps" / "graph"))
    assert isinstance(graph.ids, np.ndarray)
    wait_for("cpu")


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_map_in_order_keeps_the_order_and_stops_at_the_first_error(threads):
    assert list(map_in_order(lambda item: item * item, range(100), threads)) == [item * item for item in range(100)]
    results = map_in_order(lambda item: 1 // (3 - item), range(100), threads)
    assert [next(results) for _ in range(3)] == [0, 0, 1]
    with pytest.raises(ZeroDivisionError):
        next(results)
