"""Slow initialisation that a command begins before it imports the rest, or avoids."""

from contextlib import suppress
from functools import partial
from pathlib import Path

from kernels.cpu.numba_internals import hidden, load_runtime
from kernels.gpu.cupy_internals import import_cupyx, prepare_compiler
from kernels.gpu.devices import create_context, device_count, obstacle
from pipeline.config.run import RunConfig
from pipeline.runtime.backend import Backend
from pipeline.runtime.interpreter import share_environment
from pipeline.signals import beside
from pipeline.store.digests import LARGE, begin_digests


def prepare_gpu(config: RunConfig) -> None:
    """Begin to initialise CUDA, with contexts if this process computes and no earlier run has left steps that may be valid.

    Both together take a third of a second, in which other threads run. Errors are left to `pipeline.runtime.backend.choose`.
    """
    if config.backend != "cpu":
        with suppress(OSError):
            computes = config.cluster.scheduler == "none" and not _has_edges(config)
            beside(partial(_begin, max(1, config.cluster.shards) if computes else 0))


def prepare_source(config: RunConfig) -> None:
    """Begin to digest a large source that is read for the first time: for its SHA-256, one core may need as long as the run."""
    source = config.graph.source
    if not isinstance(source, str) or config.graph.sha256:
        return
    path = Path(source).absolute()
    with suppress(OSError):
        if not _has_edges(config) and path.is_file() and path.stat().st_size >= LARGE:
            begin_digests(path)


def _has_edges(config: RunConfig) -> bool:
    """Whether an earlier run has left steps. Raises OSError where the output cannot be read, which the run itself will say."""
    return (config.output / "steps" / "edges").exists()


def prepare_merging() -> None:
    """Begin to initialise the GPU on which changes are merged, and to import what CuPy's `searchsorted` imports."""
    beside(partial(_begin, 1))
    beside(import_cupyx)


def _begin(most: int) -> None:
    if not obstacle() and most:
        for device in range(min(most, device_count())):  # ranks that are threads have one each
            beside(partial(create_context, device))


def hide_pandas() -> None:
    """Let Arrow look for pandas now, without success: with the first value it would import it, for up to half a second."""
    import pyarrow

    share_environment()
    with hidden("pandas"):
        pyarrow.scalar(0)


def load_kernels(backend: Backend) -> None:
    """Import the compiler of kernels: CuPy, or Numba with all that it needs to call functions that it has kept."""
    if backend == "gpu":
        import_cupyx()  # first: what decodes the source waits for it
        prepare_compiler()
        from kernels.gpu.ahead.begin import begin as begin_to_compile

        begin_to_compile()
    else:
        load_runtime()
