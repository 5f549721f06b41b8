"""The machine that a table was measured on, in one line."""

from importlib.metadata import version
from pathlib import Path

from kernels.cpu.parallel import cores
from kernels.gpu.devices import obstacle


def machine(*libraries: str) -> str:
    """Its processor, number of cores that this process may use, and GPU with driver; the versions of libraries."""
    parts = [f"{_processor()}, {cores()} cores"]
    if not obstacle():
        import cupy

        driver = Path("/sys/module/nvidia/version")
        number = driver.read_text(encoding="ascii").strip() if driver.exists() else str(cupy.cuda.runtime.driverGetVersion())
        cuda = "{}.{}".format(*cupy.cuda.nvrtc.getVersion())
        name = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"].decode()
        parts.append(f"{name} (driver {number}, CUDA {cuda}, CuPy {cupy.__version__})")
    return ", ".join([*parts, *(f"{library} {version(library)}" for library in libraries)])


def _processor() -> str:
    file = Path("/proc/cpuinfo")
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown processor")
