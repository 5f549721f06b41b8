"""The GPUs of this process: whether kernels run on them, and the limits from which launchers derive sizes."""

from functools import cache
from importlib.util import find_spec

SUPPORTED = ("8.0", "8.6", "8.9", "9.0", "10.0", "12.0")  # compute capabilities
_LEAST_DRIVER = 580  # for CuPy's CUDA 13


@cache
def device_count() -> int:
    """Number of GPUs that CuPy finds; 0 if it is not installed or cannot use the driver."""
    if _no_cuda():
        return 0
    import cupy

    return int(cupy.cuda.runtime.getDeviceCount())


def obstacle() -> str | None:
    """Why kernels cannot run on the current GPU, as a clause that names what they require; None if they can."""
    if reason := _no_cuda():
        return reason
    import cupy

    return _unsupported(cupy.cuda.Device().id)


def require_supported() -> None:
    """Raise RuntimeError unless kernels can run on the current GPU."""
    if reason := obstacle():
        raise RuntimeError(reason)


@cache
def _unsupported(device: int) -> str | None:
    import cupy

    found = cupy.cuda.runtime.getDeviceProperties(device)
    capability = f"{found['major']}.{found['minor']}"
    if capability in SUPPORTED:
        return None
    return (
        f"GPU {device}, {found['name'].decode()}, has compute capability {capability}, and the kernels run on "
        f"{', '.join(SUPPORTED)}"
    )


@cache
def _no_cuda() -> str | None:
    """Why CuPy can use no GPU at all; None if it finds one."""
    if find_spec("cupy") is None:
        return "CuPy is not installed (pip install 'graphmill[gpu]')"
    try:
        import cupy
    except ImportError as error:  # without a driver its library is missing
        return f"CuPy cannot be loaded: {str(error).strip().splitlines()[0]}"
    runtime = cupy.cuda.runtime
    has, needed = runtime.driverGetVersion(), runtime.runtimeGetVersion()
    if has // 1000 < needed // 1000:
        driver = f"the NVIDIA driver is too old: it supports CUDA {version(has)}" if has else "no NVIDIA driver is installed"
        return f"{driver}, and CuPy uses CUDA {version(needed)}, which needs driver {_LEAST_DRIVER} or later"
    try:
        return None if runtime.getDeviceCount() else "CUDA finds no GPU"
    except runtime.CUDARuntimeError as error:
        return f"CUDA finds no GPU: {error}"


def version(cuda: int) -> str:
    """A version of CUDA as people write it: 13.0 for 13000."""
    return f"{cuda // 1000}.{cuda % 1000 // 10}"


def spare_bytes(device: int) -> int:
    """Bytes of dynamic shared memory that a block can have at most beside up to 1 KiB of static shared memory."""
    return block_bytes(device) - 1024


@cache
def block_bytes(device: int) -> int:
    """Bytes of shared memory, static and dynamic, that a block can have at most."""
    import cupy

    return int(cupy.cuda.runtime.getDeviceProperties(device)["sharedMemPerBlockOptin"])
