"""The sweep over the families of graphs proves and times every kernel on each."""

# ruff: noqa: E402  (the imports below need CuPy)
import pytest

cupy = pytest.importorskip("cupy")

from benchmarks.families import bench


@pytest.mark.real_gpu(reason="CuPy compiles the weights' formula")
@pytest.mark.parametrize("family", bench.FAMILIES)
def test_every_kernel_is_timed(monkeypatch: pytest.MonkeyPatch, family: str) -> None:
    monkeypatch.setattr(bench, "SIZES", {"tiny": 1 << 8})
    rows = list(bench.sweep(["tiny"], [family], float("inf")))
    assert {row.kernel for row in rows} >= {"bfs", "sssp", "forest", "wcc", "pagerank"}
    assert not any(row.failure for row in rows)
    assert all(row.median for row in rows)
