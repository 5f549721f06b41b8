"""Imported by the fork server (pipeline.cluster.fork_server): what local workers for the CPU need before their first task."""

from pipeline.cluster.loading import load

load("cpu", ["distributed.nanny", "pipeline.cluster.dask.ranks"])
