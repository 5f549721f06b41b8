"""Where the arrays of a step live: in this machine's memory, or in its GPU's. The tables do not depend on it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from kernels.gpu.loader import device_count, to_device
from kernels.graph import Array, Graph
from pipeline.config.model import Choice
from pipeline.errors import BadConfig
from pipeline.store.graph import open_graph
from pipeline.store.manifest import Folder

Backend = Literal["cpu", "gpu"]
DRIVER = Path("/proc/driver/nvidia/version")

_on_gpu: dict[str, Graph] = {}  # by digest; the last graph alone


def choose(choice: Choice) -> Backend:
    """The backend of a run: `auto` takes the GPU where CuPy is installed and finds one.

    Raises
    ------
    BadConfig
        `gpu` is asked for, and there is none.
    """
    if choice == "auto":
        return "gpu" if device_count() else "cpu"
    if choice == "gpu" and not device_count():
        raise BadConfig("backend: a GPU is asked for, but CuPy is not installed (pip install 'graphmill[gpu]') or finds none")
    return choice


def open_on(graph: Folder, backend: Backend) -> Graph:
    """Open a stored graph where its arrays are to be. Raises Damaged as `open_graph`.

    The GPU keeps the last graph, so that the steps of a run bring it there once.
    """
    if backend == "cpu":
        return open_graph(graph)
    if graph.digest not in _on_gpu:
        _on_gpu.clear()  # first, so that there is room
        _on_gpu[graph.digest] = to_device(open_graph(graph))
    return _on_gpu[graph.digest]


def keep_freed_memory() -> None:
    """Let CuPy keep the GPU memory that it frees, where it would go back to the driver: every array then waits for the GPU.

    Importing cuDF, as each of Dask-CUDA's workers does, has CuPy ask RMM, and RMM has no pool unless somebody gave it one.
    """
    rmm = sys.modules.get("rmm")
    if rmm and isinstance(rmm.mr.get_current_device_resource(), rmm.mr.CudaMemoryResource):
        import cupy

        cupy.cuda.set_allocator(cupy.get_default_memory_pool().malloc)


def bring(array: Array, backend: Backend) -> Array:
    """The same array where the run's arrays are; one of this machine's memory stays as it is on the CPU."""
    if backend == "cpu":
        return array
    import cupy

    return cupy.asarray(array)


def wait_for(backend: Backend) -> None:
    """Return when a GPU has done what it was asked; its kernels return before."""
    if backend == "gpu":
        import cupy

        cupy.cuda.get_current_stream().synchronize()


class Clock:
    """Seconds spent in the functions it times, from any thread."""

    def __init__(self, backend: Backend) -> None:
        self.seconds = 0.0
        self._backend = backend

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, its wall time added to `seconds`."""

        def run(*arguments: Any) -> Any:
            started = time.perf_counter()
            answer = function(*arguments)
            wait_for(self._backend)
            self.seconds += time.perf_counter() - started
            return answer

        return run


def gpu() -> dict[str, str]:
    """Name of the current GPU, and versions of its driver, of CUDA at run time and of CuPy."""
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
    cuda = cupy.cuda.runtime.runtimeGetVersion()
    return {
        "gpu": properties["name"].decode(),
        "driver": _driver(),
        "cuda": f"{cuda // 1000}.{cuda % 1000 // 10}",
        "cupy": cupy.__version__,
    }


def _driver() -> str:
    """The driver's own version; the runtime only says which CUDA it bears."""
    try:
        words = DRIVER.read_text(encoding="utf-8").splitlines()[0].split()
    except (OSError, IndexError):
        return "unknown"
    return next((word for word in words if word[:1].isdigit()), "unknown")
