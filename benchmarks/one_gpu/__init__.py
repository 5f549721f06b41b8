"""Our kernels on one GPU beside cuGraph."""
