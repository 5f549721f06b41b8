"""How much memory is free. A step that needs more is refused before it begins, with both numbers in the message."""

import ctypes
import os
from pathlib import Path

import pyarrow as pa

from kernels.gpu.loader import free_bytes
from pipeline.config.model import MIB
from pipeline.errors import TooLarge
from pipeline.runtime.backend import Backend

MEMINFO = Path("/proc/meminfo")
CGROUPS = Path("/sys/fs/cgroup")
# For versions 2 and 1: the limit, the usage, and the entry of `memory.stat` with the page cache that can be reclaimed.
_NAMES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def require_memory(what: str, needed: int, backend: Backend) -> None:
    """Raise TooLarge unless `needed` bytes are free for `what`."""
    free = free_memory(backend)
    if needed > free:
        where = "the GPU" if backend == "gpu" else "this machine"
        raise TooLarge(f"{what} takes up to {needed / MIB:,.0f} MiB of memory, and {free / MIB:,.0f} MiB are free on {where}")


def free_memory(backend: Backend = "cpu") -> int:
    """Free bytes: of the machine and within its control groups, or on the current GPU."""
    if backend == "gpu":
        return free_bytes()
    return min([_free_on_the_machine(), *(free for folder in _control_groups() if (free := _free_in(folder)) is not None)])


def return_unused() -> None:
    """Return memory that Arrow and the C library keep after it was freed: here up to a quarter of a step's peak."""
    pa.default_memory_pool().release_unused()
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):  # glibc's
        trim(0)


def _free_on_the_machine() -> int:
    try:
        lines = dict(line.split(":", 1) for line in MEMINFO.read_text(encoding="ascii").splitlines())
        return int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):  # no Linux
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _control_groups() -> list[Path]:
    """The control groups of this process, and their parents."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    groups = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers in ("", "memory"):
            group = Path(path.lstrip("/"))
            groups += [CGROUPS / controllers / inner for inner in (group, *group.parents)]
    return groups


def _free_in(folder: Path) -> int | None:
    """Bytes left below the limit of a control group; None if it has no limit."""
    for limit, usage, idle in _NAMES:
        try:
            left = int((folder / limit).read_text()) - int((folder / usage).read_text())
            stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        except (OSError, ValueError):  # not there, or "max"
            continue
        return left + int(stat.get(idle, 0))
    return None
