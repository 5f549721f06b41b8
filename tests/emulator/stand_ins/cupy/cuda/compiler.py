"""The part of CuPy's compiler that `kernels.gpu.loader` replaces."""

_empty_file_preprocess_cache: dict = {}
