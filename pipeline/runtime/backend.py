"""The backend of a step: whether its arrays are in host memory or on the GPU. The tables do not depend on it."""

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from kernels.arrays import is_cupy_array
from kernels.gpu.devices import cuda_version, current, device_count, name_of, obstacle
from kernels.graph import Array
from pipeline.config.model import Choice
from pipeline.errors import BadConfig

if TYPE_CHECKING:
    from kernels.gpu.deep import TakenOver

log = logging.getLogger(__name__)
Backend = Literal["cpu", "gpu"]
DRIVER = Path("/proc/driver/nvidia/version")


def choose(choice: Choice) -> Backend:
    """The backend of a run: `auto` takes the GPU if kernels run on it, and otherwise logs why it takes the CPU.

    Raises:
        BadConfig: `gpu` is requested, and there is none, or kernels do not run on it.
    """
    if choice == "cpu":
        return "cpu"
    reason = obstacle()
    if reason and choice == "gpu":
        raise BadConfig(f"backend: a GPU is requested, but {reason}")
    if reason:
        log.info("backend: cpu, because %s", reason)
    return "cpu" if reason else "gpu"


def use_gpu() -> None:
    """Require a GPU on which kernels run, and let CuPy's pool keep freed memory. Raises as `choose`.

    Memory that goes back to the driver makes every allocation wait for the GPU. Importing cuDF, as Dask-CUDA's workers do,
    makes CuPy allocate through RMM, which has no pool by default.
    """
    choose("gpu")
    rmm = sys.modules.get("rmm")
    if rmm and isinstance(rmm.mr.get_current_device_resource(), rmm.mr.CudaMemoryResource):
        import cupy

        cupy.cuda.set_allocator(cupy.get_default_memory_pool().malloc)


def bring(array: Array, backend: Backend) -> Array:
    """Copy an array to the backend's memory; one that is there, and any on the CPU, is returned unchanged."""
    if backend == "cpu" or is_cupy_array(array):
        return array
    from kernels.distributed.gpu.memory import put

    copied: Array = put([array.reshape(-1)], "device").reshape(array.shape)
    return copied


def empty_array(length: int, dtype: DTypeLike, backend: Backend) -> Array:
    """An uninitialised array [length] in the backend's memory."""
    if backend == "cpu":
        return np.empty(length, dtype)
    import cupy

    made: Array = cupy.empty(length, dtype)
    return made


def device_of(array: Any) -> AbstractContextManager[Any]:
    """A block in which an array's GPU is the current one of this thread; an array of NumPy has none."""
    return array.device if is_cupy_array(array) else nullcontext()


def overwrite(there: Any, values: Array) -> None:
    """Copy a NumPy array into an array of its length and type, which may be on any GPU."""
    if not is_cupy_array(there):
        there[...] = values
        return
    with device_of(there):
        there.set(np.ascontiguousarray(values))


def fetch(array: Array) -> Array:
    """Copy an array to host memory; one of NumPy is returned unchanged."""
    if not is_cupy_array(array):
        return array
    from kernels.distributed.gpu.memory import fetch_all

    return fetch_all(array)


@contextmanager
def limited_gpu(count: int | None) -> Iterator[None]:
    """In the block this process may take `count` bytes of each of its GPUs; None sets no limit."""
    if count is None or obstacle():
        yield
        return
    import cupy

    pool, before = cupy.get_default_memory_pool(), list[int]()
    for device in range(device_count()):
        with cupy.cuda.Device(device):
            before.append(pool.get_limit())
            pool.set_limit(size=count)
    try:
        yield
    finally:
        for device, limit in enumerate(before):
            with cupy.cuda.Device(device):
                pool.set_limit(size=limit)


def free_pools() -> None:
    """Give back memory of the GPU, and pinned memory of the host, that CuPy's pools keep and nothing uses."""
    import cupy

    cupy.get_default_memory_pool().free_all_blocks()
    cupy.get_default_pinned_memory_pool().free_all_blocks()


def wait_for(backend: Backend) -> None:
    """Wait until the GPU has finished: kernel launches are asynchronous."""
    if backend == "gpu":
        import cupy

        cupy.cuda.get_current_stream().synchronize()


def taken_over(backend: Backend) -> "AbstractContextManager[TakenOver | None]":
    """Count how often the CPU takes over from kernels of the GPU, because a graph is deep; None on the CPU."""
    if backend == "cpu":
        return nullcontext()
    from kernels.gpu.deep import counting

    return counting()


class Clock:
    """Sums the seconds spent in the functions that it times, on any thread, and how often the CPU takes over there."""

    def __init__(self, backend: Backend) -> None:
        self.seconds, self.on_cpu = 0.0, 0
        self.backend = backend

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Add the wall time of a block, or of a function that this decorates, to `seconds`, unless it raises."""
        started = time.perf_counter()
        with taken_over(self.backend) as taken:
            yield
        wait_for(self.backend)
        self.seconds += time.perf_counter() - started
        self.on_cpu += taken.times if taken else 0


def gpu() -> dict[str, str]:
    """Name of the current GPU, and versions of its driver, of the newest CUDA that it supports, and of CuPy."""
    return {"gpu": name_of(current()), "driver": _driver(), "cuda": cuda_version(), "cupy": _cupy()}


def _cupy() -> str:
    """The version of CuPy, without importing it if its wheel states it."""
    try:
        return metadata.version("cupy-cuda13x")
    except metadata.PackageNotFoundError:  # built from source
        import cupy

        return str(cupy.__version__)


def _driver() -> str:
    """The driver's own version; the CUDA runtime reports only the newest CUDA version that it supports."""
    try:
        words = DRIVER.read_text(encoding="utf-8").splitlines()[0].split()
    except (OSError, IndexError):
        return "unknown"
    return next((word for word in words if word[:1].isdigit()), "unknown")
