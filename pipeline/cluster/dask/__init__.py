"""Dask: the connection to a scheduler, its workers, and the ranks of one graph on them."""
