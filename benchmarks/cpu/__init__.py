"""The CPU kernels, compared with SciPy, igraph and NetworKit."""
