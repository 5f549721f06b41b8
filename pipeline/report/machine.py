"""The machine of a run, and the versions of its libraries."""

import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path

from kernels.cpu.parallel import cores
from pipeline.runtime.backend import Backend, gpu

LIBRARIES = ("numpy", "scipy", "numba", "pyarrow", "matplotlib")


@cache
def machine(backend: Backend) -> dict[str, str]:
    """Name to value: processor, cores, the GPU if it computes, system, Python and libraries."""
    return {
        "Processor": f"{_processor()} ({platform.machine()})",
        "Cores": str(cores()),
        **(_gpu() if backend == "gpu" else {}),
        "System": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        "Libraries": _libraries(),
    }


def _libraries() -> str:
    return ", ".join(f"{library} {version(library)}" for library in LIBRARIES)


def _gpu() -> dict[str, str]:
    machine = gpu()
    return {"GPU": f"{machine['gpu']}, driver {machine['driver']}, CUDA {machine['cuda']}, CuPy {machine['cupy']}"}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or "unknown")
