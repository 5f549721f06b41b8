"""What a benchmark ran on."""

import os
import platform
import resource
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kernels.cpu.parallel import cores
from pipeline.runtime.backend import Backend, gpu


def machine(backend: Backend) -> dict[str, Any]:
    """Processor, cores that this process may use, memory in bytes, the GPU if it computes, and versions."""
    stated: dict[str, Any] = {"processor": _processor(), "cpus": cores(), "memory": _memory(), "system": platform.platform()}
    if backend == "gpu":
        stated |= gpu()
    return stated | {"graphmill": version("graphmill"), "python": platform.python_version()}


def memory_in_use(backend: Backend) -> dict[str, int]:
    """Bytes: `peak`, the most that this process has used, and `gpu`, what is used of the GPU; freed memory is kept there."""
    used = {"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}
    if backend == "gpu":
        import cupy

        free, total = cupy.cuda.runtime.memGetInfo()
        used["gpu"] = int(total - free)
    return used


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return None
