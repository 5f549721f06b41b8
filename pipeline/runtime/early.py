"""Slow initialisation that a command begins before it imports the rest, or avoids."""

import sys
from functools import partial
from importlib import import_module
from importlib.abc import MetaPathFinder

from kernels.gpu.devices import create_context, device_count, obstacle
from pipeline.config.run import RunConfig
from pipeline.runtime.backend import Backend
from pipeline.signals import beside


def prepare_gpu(config: RunConfig) -> None:
    """Begin to initialise CUDA, with contexts if this process computes and no earlier run has left steps that may be valid.

    Both together take a third of a second, in which other threads run. Errors are left to `pipeline.runtime.backend.choose`.
    """
    if config.backend != "cpu":
        computes = config.cluster.scheduler == "none" and not (config.output / "steps" / "edges").exists()
        beside(partial(_begin, max(1, config.cluster.shards) if computes else 0))


def prepare_merging() -> None:
    """Begin to initialise the GPU on which changes are merged, and to import what CuPy's `searchsorted` imports."""
    beside(partial(_begin, 1))
    beside(_load_searching)


def _load_searching() -> None:
    import_module("cupy")  # alone: another thread may be importing it, and would see a part of either
    import_module("cupyx")


def _begin(most: int) -> None:
    if not obstacle() and most:
        for device in range(min(most, device_count())):  # ranks that are threads have one each
            beside(partial(create_context, device))


class _NoPandas(MetaPathFinder):
    """An import finder that hides pandas."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        """Refuse one name."""
        if fullname == "pandas":
            raise ModuleNotFoundError("graphmill does not use pandas", name=fullname)


def hide_pandas() -> None:
    """Let Arrow look for pandas now, without success: with the first value it would import it, for up to half a second."""
    import pyarrow

    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pyarrow.scalar(0)
    finally:
        sys.meta_path.remove(finder)


def load_kernels(backend: Backend) -> None:
    """Import the compiler of kernels: CuPy, or Numba with all that it would import at the first call of a function.

    Numba looks for SciPy's linear algebra, which takes a fifth of a second to import and no kernel uses; NumPy's functions that
    need it, other than `cov` and `corrcoef`, still look for it when they are compiled.
    """
    if backend == "gpu":
        import_module("cupy")
        return
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.registry import cpu_target
    from numba.np import linalg

    # Made before the lock is taken: a thread that declares a function makes them under a lock of Python, then takes this one.
    contexts = cpu_target.typing_context, cpu_target.target_context
    with global_compiler_lock:
        require, linalg.ensure_blas = linalg.ensure_blas, _no_blas
        try:
            for context in contexts:
                context.refresh()
        finally:
            linalg.ensure_blas = require


def _no_blas() -> None:
    raise ImportError("not looked for yet")
