"""The GPUs of this process: whether kernels run on them, and the limits from which launchers derive sizes."""

from ctypes import CDLL, Structure, byref, c_ulonglong, c_void_p
from functools import cache
from importlib.util import find_spec
from typing import Any, ClassVar
from uuid import UUID

SUPPORTED = ("8.0", "8.6", "8.9", "9.0", "10.0", "12.0")  # compute capabilities
_CUDA, _LEAST_DRIVER = 13000, 580  # of CuPy's wheel


@cache
def device_count() -> int:
    """Number of GPUs of this process; 0 if CuPy is not installed or cannot use the driver."""
    return 0 if _no_cuda() else int(_ask("cuDeviceGetCount"))


def obstacle() -> str | None:
    """The reason why kernels cannot run on the current GPU, with what they require; None if they can."""
    return _no_cuda() or _unsupported(current())


def require_supported() -> None:
    """Raise RuntimeError unless kernels can run on the current GPU."""
    if reason := obstacle():
        raise RuntimeError(reason)


def current() -> int:
    """The GPU of this thread: the first one before any was chosen."""
    try:
        return int(_ask("cuCtxGetDevice"))
    except RuntimeError:  # there is no context yet
        return 0


def create_context(device: int) -> None:
    """Create the context of a GPU, as any use of CuPy would, but without CuPy; other threads run in the meantime."""
    _ask("cuDevicePrimaryCtxRetain", device)


class _Memory(Structure):
    """`nvmlMemory_t`: bytes."""

    _fields_: ClassVar = [("total", c_ulonglong), ("free", c_ulonglong), ("used", c_ulonglong)]


def free_without_context(device: int) -> int | None:
    """Free bytes of a GPU that this process does not use yet; None if NVIDIA's management library cannot say.

    It needs neither CuPy nor a context, which take half a second: https://docs.nvidia.com/deploy/nvml-api
    """
    try:
        library = CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    handle, memory, name = c_void_p(), _Memory(), f"GPU-{UUID(bytes=bytes(_ask('cuDeviceGetUuid', device).bytes))}"
    failed = (
        library.nvmlInit_v2()
        or library.nvmlDeviceGetHandleByUUID(name.encode(), byref(handle))
        or library.nvmlDeviceGetMemoryInfo(handle, byref(memory))
    )
    return None if failed else int(memory.free)


def memory_of(device: int) -> int:
    """Bytes of a GPU's memory, free or not; needs no context."""
    return int(_ask("cuDeviceTotalMem", device))


def name_of(device: int) -> str:
    """What its maker calls a GPU."""
    name: bytes = _ask("cuDeviceGetName", 128, device)
    return name.partition(b"\0")[0].decode()  # the driver fills a C string's buffer, and any bytes may follow its end


def cuda_version() -> str:
    """The newest CUDA that the driver supports."""
    return _written(_ask("cuDriverGetVersion"))


@cache
def compute_capability(device: int) -> str:
    """The version of a GPU's instructions, such as "9.0"."""
    from cuda.bindings.driver import CUdevice_attribute as Attribute

    parts = (Attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, Attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
    return ".".join(str(_ask("cuDeviceGetAttribute", part, device)) for part in parts)


@cache
def _unsupported(device: int) -> str | None:
    capability = compute_capability(device)
    if capability in SUPPORTED:
        return None
    return f"GPU {device}, {name_of(device)}, has compute capability {capability}, and the kernels run on {', '.join(SUPPORTED)}"


@cache
def _no_cuda() -> str | None:
    """Why CuPy can use no GPU at all; None if it can. CuPy itself takes half a second to import, which asking does not need."""
    if find_spec("cupy") is None:
        return "CuPy is not installed (in the clone: make .venv/gpu)"
    try:
        has = _ask("cuDriverGetVersion")
        if has // 1000 < _CUDA // 1000:
            driver = f"the NVIDIA driver is too old: it supports CUDA {_written(has)}" if has else "no NVIDIA driver is installed"
            return f"{driver}, and CuPy uses CUDA {_written(_CUDA)}, which needs driver {_LEAST_DRIVER} or later"
        _ask("cuInit", 0)
        return None if _ask("cuDeviceGetCount") else "CUDA finds no GPU"
    except (ImportError, RuntimeError) as error:  # without a driver its library is missing
        return f"CUDA finds no GPU: {str(error).strip().splitlines()[0]}"


def _ask(function: str, *arguments: Any) -> Any:
    """What a function of CUDA's driver returns. Raises RuntimeError with the driver's error."""
    from cuda.bindings import driver

    error, *values = getattr(driver, function)(*arguments)
    if error.value:
        raise RuntimeError(error.name)
    return values[0] if values else None


def _written(cuda: int) -> str:
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
