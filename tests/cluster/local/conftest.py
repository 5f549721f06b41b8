"""Two workers for all files here."""

import pytest

from pipeline.cluster.start import started
from pipeline.config.cluster import ClusterConfig
from tests.cluster.processes import local_workers

LOCAL = ClusterConfig(scheduler="local", workers=2)


@pytest.fixture(scope="package")
def cluster():
    with started(LOCAL, "cpu") as cluster:
        yield cluster
    assert not local_workers()
