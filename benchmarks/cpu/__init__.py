"""Our CPU kernels beside SciPy, igraph and NetworKit."""
