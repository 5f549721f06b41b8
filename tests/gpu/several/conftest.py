"""Ranks of one process hold graphs together here, although a GPU has memory for all of each."""

import pytest


@pytest.fixture(autouse=True)
def graphs_that_no_gpu_holds(monkeypatch):
    monkeypatch.setattr("pipeline.steps.runtime.PER_STORED_BYTE", 2**60)
