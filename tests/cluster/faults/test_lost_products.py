"""Workers that are killed during `graphmill matrix` and `graphmill trees`: the right table, or one error and no table."""

from contextlib import contextmanager
from pathlib import Path

import pytest

from pipeline.cluster.start import started
from pipeline.errors import ClusterLost
from pipeline.steps import stored_graph
from pipeline.store import manifest
from pipeline.tables import files as tables
from tests.cluster.calls import DeadlyWrites
from tests.cluster.processes import local_workers
from tests.pipeline.products.calls import matrix_into, trees_into

ROME = str(Path(__file__).parents[3] / "data" / "rome99.gr.gz")
SOURCES = 1300  # of a table with two files
pytestmark = pytest.mark.usefixtures("kept_fork_server")


@pytest.fixture
def lossy(tmp_path, monkeypatch):
    """Call a command over two local workers, of which a task may lose so many, and kill so many while they write."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "sources.txt").write_text("".join(f"{vertex}\n" for vertex in range(1, SOURCES + 1)))

    def call(product, kills: int, lost_workers: int):
        @contextmanager
        def deadly(*where):
            with started(*where) as cluster:
                found = DeadlyWrites(cluster, tmp_path / f"deaths-{lost_workers}", kills)
                yield found
                assert found.left == 0

        with monkeypatch.context() as patched:
            patched.setattr(stored_graph, "started", deadly)
            cluster = {"scheduler": "local", "workers": 2, "lost_workers": lost_workers}
            return product(ROME, tmp_path / "out", sources=str(tmp_path / "sources.txt"), backend="cpu", cluster=cluster)

    return call


@pytest.mark.parametrize("product", [matrix_into, trees_into])
def test_a_product_whose_workers_are_killed(lossy, tmp_path, product):
    with pytest.raises(ClusterLost, match=r"^cluster: one task lost 1 worker$"):
        lossy(product, kills=1, lost_workers=0)
    assert not (tmp_path / "out").exists()
    assert not [*tmp_path.rglob(".graphmill-*")]
    found = lossy(product, kills=2, lost_workers=2)
    manifest.check(found)
    expected = product(ROME, tmp_path / "expected", sources=str(tmp_path / "sources.txt"), backend="cpu")
    assert len(tables.files(expected.path)) > 2
    assert found.manifest.files == expected.manifest.files
    assert not [*tmp_path.rglob(".graphmill-*")]
    assert not local_workers()
