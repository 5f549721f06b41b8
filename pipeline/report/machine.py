"""What a run ran on: the machine and the versions of what computes."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

LIBRARIES = ("numpy", "scipy", "numba", "pyarrow", "matplotlib")


def machine() -> dict[str, str]:
    """Name to value, for the reader: processor, cores, system, Python and the libraries."""
    return {
        "Processor": f"{_processor()} ({platform.machine()})",
        "Cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "System": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        "Libraries": ", ".join(f"{library} {version(library)}" for library in LIBRARIES),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or "unknown")
