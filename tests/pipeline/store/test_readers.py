"""Analysts' libraries read tables through `latest` while runs are published: a read never mixes two runs."""

import pytest

from tests.pipeline.store.readers import FILES, INSTALLED, read_during_publications


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("reads", [90, pytest.param(51_000, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("files", FILES)
def test_a_read_during_publications_is_of_one_run(reads, files):
    counts = read_during_publications(reads, files)
    assert len(INSTALLED) == 3
    assert sum(name.startswith("run ") for name in counts) > 1
