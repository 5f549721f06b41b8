"""What the command `run` begins before the rest of it is imported."""

import threading

import pytest

from pipeline.cli import command
from pipeline.cli.options import RunOptions
from pipeline.errors import BadConfig


class Stop(Exception):
    """Ends a command."""


@pytest.mark.parametrize(
    ("graph", "backend", "begins"),
    [("g.csv", None, True), ("g.csv", "gpu", True), ("g.csv", "cpu", False), ("run.toml", None, False)],
)
def test_cuda_is_initialised_while_configurations_are_imported(graph, backend, begins, monkeypatch):
    """Unless it may not be needed: a configuration states its backend itself."""
    begun = threading.Event()

    def config(*_, **__):
        assert begun.wait(60 if begins else 0.1) == begins
        raise BadConfig("the end of the test")

    monkeypatch.setattr("kernels.gpu.devices.obstacle", begun.set)
    monkeypatch.setattr(RunOptions, "config", config)
    with pytest.raises(BadConfig, match="the end of the test"):
        command.run(graph, options=RunOptions(backend=backend))


def test_a_large_source_is_digested_before_the_run_begins(tmp_path, monkeypatch):
    (tmp_path / "g.csv").write_text("src,dst\n1,2\n")
    begun = list[object]()

    def run(_):
        raise Stop

    monkeypatch.setattr("pipeline.runtime.early.LARGE", 1)
    monkeypatch.setattr("pipeline.runtime.early.begin_digests", begun.append)
    monkeypatch.setattr("pipeline.run.run", run)
    with pytest.raises(Stop):
        command.run(str(tmp_path / "g.csv"), options=RunOptions(out=tmp_path / "out", backend="cpu"))
    assert begun == [tmp_path / "g.csv"]
