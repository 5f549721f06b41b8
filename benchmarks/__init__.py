"""Our kernels against SciPy, igraph and NetworKit on the same graphs: `python -m benchmarks`."""
