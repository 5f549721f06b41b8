"""What a benchmark ran on."""

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kernels.cpu.parallel import cores
from pipeline.runtime.backend import Backend, gpu


def machine(backend: Backend) -> dict[str, Any]:
    """Processor, cores that this process may use, memory in bytes, the GPU if it computes, and versions."""
    stated: dict[str, Any] = {"processor": _processor(), "cores": cores(), "memory": _memory(), "system": platform.platform()}
    if backend == "gpu":
        stated |= gpu()
    return stated | {"graphmill": version("graphmill"), "python": platform.python_version()}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return None
