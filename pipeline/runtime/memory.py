"""How much memory and disk is free. What needs more is refused before it begins, with both numbers in the message."""

import ctypes
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from kernels.cpu.parallel import cores
from kernels.gpu.loader import free_bytes
from kernels.records import dataclass
from pipeline.addresses import ADDRESSES, address_space, status
from pipeline.config.model import MIB
from pipeline.errors import TooLarge
from pipeline.runtime.backend import Backend
from pipeline.runtime.interpreter import keeps_freed_memory
from pipeline.units import size

MEMINFO = Path("/proc/meminfo")
VMSTAT = Path("/proc/vmstat")
CGROUPS = Path("/sys/fs/cgroup")
# For versions 2 and 1: the limit, the usage, and the entries of `memory.stat` with the page cache that the kernel gives up.
_NAMES = (
    ("memory.max", "memory.current", ("inactive_file", "active_file")),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", ("total_inactive_file", "total_active_file")),
)
_PER_VERTEX = 24  # bytes of a stored vertex: its id and its two degrees
PLENTY = 2  # times the memory that this process has
# Of free memory an edge list may take this fraction: its layout takes up to 4 times as much, and 35 bytes for each vertex.
_PART_OF_FREE: dict[Backend, int] = {"cpu": 6, "gpu": 3}
_SHARE_OF_FREE = 4  # the same of arcs that are sorted at a time where memory is short
_LEAST_SHARE = 2**25  # bytes of these arcs
# Bytes, per vertex and per arc, that a stage or its proof takes at most beside the graph.
_OF_STAGE: dict[Backend, tuple[int, int]] = {"cpu": (128, 12), "gpu": (256, 0)}
_KEY = 8  # bytes of a key by which a GPU sorts an arc
STORED = 0.5  # of the arcs, at least: the others may be parallel arcs, which are dropped


def require_memory(what: str, needed: int, backend: Backend) -> None:
    """Raise TooLarge unless `needed` bytes are free for `what`."""
    free = free_memory(backend)
    if needed > free:
        where = whose_memory(backend)
        raise TooLarge(f"{what} takes up to {needed / MIB:,.0f} MiB of memory, and {free / MIB:,.0f} MiB are free {where}")


def free_memory(backend: Backend = "cpu") -> int:
    """Free bytes: of the machine, within its control groups and the limit of the run, or on the current GPU."""
    if backend == "gpu":
        return free_bytes()
    return max(0, min(left for left, _, _ in _spaces()))


def whose_memory(backend: Backend = "cpu") -> str:
    """What `free_memory` is a part of, for people: the limit that is met first."""
    if backend == "gpu":
        return "on the GPU"
    _, most, where = min(_spaces())
    return f"of the {size(most)} that {where}" if where else "on this machine"


def _spaces() -> list[tuple[int, int, str]]:
    """Bytes that are free below each limit that holds, the limit, and what has it; that of the machine has no name."""
    spaces = [(machine()[1], machine()[0], "")]
    spaces += [(most - private_memory(), most, OF_RUN) for most in _LIMITS]
    spaces += [(most - taken, most, ADDRESSES) for most, taken in filter(None, [address_space()])]
    return spaces + [(group.left, group.bytes, f"control group {group.folder.name} allows") for group in control_groups()]


def leave_enough(columns: int, backend: Backend) -> bool:
    """Whether an edge list of so many bytes may be held in memory: its layout needs the rest."""
    return columns <= free_memory(backend) // _PART_OF_FREE[backend]


def stages_at_once(backend: Backend, vertices: int, arcs: int, gpus: int = 1, stored: int = 0) -> int:
    """How many stages may run and be proved at the same time: as many as memory allows, at most one for each core.

    `gpus` with as much free memory each will hold the `stored` bytes of the graph together.
    """
    of_vertex, of_arc = _OF_STAGE[backend]
    fit = min(free_memory(), gpus * free_memory(backend) - stored) // max(1, of_vertex * vertices + of_arc * arcs)
    return max(1, min(cores(), fit))


def share_of_arcs() -> int:
    """Bytes that arcs may take at a time, if the edge list is not in memory: the fewer, the more often it is read."""
    return max(free_memory() // _SHARE_OF_FREE, _LEAST_SHARE)


OF_RUN = "`[limits] memory` allows"
_LIMITS: list[int] = []  # bytes that this process may take, of the runs in it that state some


@contextmanager
def limited_to(count: int | None) -> Iterator[None]:
    """In the block this process may take `count` bytes; None sets no limit."""
    if count is None:
        yield
        return
    _LIMITS.append(count)
    try:
        yield
    finally:
        _LIMITS.remove(count)


def limit_of_run() -> int | None:
    """The bytes that this process may take by the limits of its runs; None without one."""
    return min(_LIMITS, default=None)


def private_memory() -> int:
    """Bytes of this process that are neither page cache nor shared with others."""
    return status("RssAnon", "RssShmem")


def return_unused() -> None:
    """Return memory that Arrow and the C library keep after it was freed: here up to a quarter of a step's peak.

    Where twice as much is free as this process has, a command keeps it, because the kernel would zero it before it is used again.
    """
    if keeps_freed_memory() and private_memory() < free_memory() // PLENTY:
        return
    pa.default_memory_pool().release_unused()
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):  # glibc's
        trim(0)


def machine() -> tuple[int, int]:
    """Bytes of memory that the machine has, and that are free or can be made free."""
    try:
        lines = dict(line.split(":", 1) for line in MEMINFO.read_text(encoding="ascii").splitlines())
        total, available = (int(lines[name].split()[0]) * 1024 for name in ("MemTotal", "MemAvailable"))
        return total, available
    except (OSError, KeyError, ValueError):  # no Linux
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return total, total


class LimitedGroup(NamedTuple):
    """A control group with a limit of memory, of which this process is."""

    folder: Path
    bytes: int
    left: int  # bytes, including page cache that the kernel gives up


def control_groups() -> list[LimitedGroup]:
    """The control groups of this process and their parents, of those with a limit."""
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
    return [*filter(None, map(_group, groups))]


def kills() -> int:
    """How many processes the kernel has ended for their memory so far: of this process's limited control groups, or of all."""
    counted = [folder / name for folder, *_ in control_groups() for name in ("memory.events", "memory.oom_control")]
    return sum(_oom_kills(file) for file in counted or [VMSTAT])


def _oom_kills(file: Path) -> int:
    try:
        lines = [line.split() for line in file.read_text(encoding="ascii").splitlines()]
    except OSError:
        return 0
    return sum(int(line[1]) for line in lines if line[0] == "oom_kill")


def _group(folder: Path) -> LimitedGroup | None:
    """A control group; None if it has no limit."""
    for limit, usage, cached in _NAMES:
        try:
            most, taken = int((folder / limit).read_text()), int((folder / usage).read_text())
            stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        except (OSError, ValueError):  # not there, or "max"
            continue
        return LimitedGroup(folder, most, most - taken + sum(int(stat.get(name, 0)) for name in cached))
    return None


@dataclass(frozen=True)
class Shape:
    """Sizes of a graph that determine the bytes of its arrays."""

    edges: int
    vertices: int
    weight: int  # bytes of a weight; 0 without weights
    symmetric: bool  # whether each edge is two arcs, and in-arcs are those that leave

    @property
    def arcs(self) -> int:
        """Number of arcs, if none is dropped."""
        return self.edges * (2 if self.symmetric else 1)

    @property
    def _arc(self) -> int:
        return self.weight + (4 if self.vertices < 2**31 else 8)

    @property
    def columns(self) -> int:
        """Bytes of the edge list in memory, if the ids are not much larger than their number."""
        return self.edges * (self.weight + (8 if self.vertices < 2**31 else 16))

    @property
    def on_gpu(self) -> int:
        """Bytes that the layout on a GPU takes at least, if the edge list is not there already."""
        return self.columns + self.sorting("gpu")

    def sorting(self, backend: Backend, sparing: bool = False) -> int:
        """Bytes that the layout takes at least beside the edge list, to sort the arcs into rows.

        If `sparing`, the edge list is not in memory, and a share of the arcs at a time is.
        """
        if backend == "gpu":
            return self.arcs * _KEY
        if sparing:
            return min(self.arcs * self._dealt, _LEAST_SHARE)
        return self.arcs * (self._dealt + (0 if self.symmetric else self._arc))

    def layout(self, sparing: bool) -> int:
        """Bytes that the layout takes at most on a CPU beside vertices and what is read of the source, if no arc is dropped."""
        if sparing:
            return min(self.arcs * self._dealt, share_of_arcs())
        directions = 1 if self.symmetric else 2
        before, rows = (directions - 1) * self._arc, directions * self._arc
        return self.columns + self.arcs * max(before + self._dealt, rows + self._arc)

    @property
    def _dealt(self) -> int:
        """Bytes of an arc that is sorted: also its row."""
        return 2 * self._arc - self.weight

    def disk(self) -> int:
        """Bytes of the stored graph."""
        directions = 1 if self.symmetric else 2
        rows = _PER_VERTEX + (4 if self.vertices < 2**31 else 8) + 8 * directions
        return self.vertices * rows + self.arrays

    @property
    def arrays(self) -> int:
        """Bytes of the arcs in all directions: also of the files into which they are sorted where memory is short."""
        return self.arcs * self._arc * (1 if self.symmetric else 2)


def free_disk(folder: Path) -> int:
    """Bytes that this user may still write to the file system of a folder, which need not exist."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(os.path.realpath(folder)).free


def require_space(shape: Shape, backend: Backend, folder: Path, held: bool = False, share: float = 1.0) -> None:
    """Raise TooLarge unless a graph's edges fit into memory, and the stored graph onto the disk.

    Args:
        backend: Where it is laid out: on a GPU only if that holds the edges, see `Shape.on_gpu`.
        folder: Where the graph will be stored.
        held: Whether the edge list is in memory already.
        share: How much of the figures is certain, if the numbers of edges and vertices are estimates.
    """
    memory = shape.sorting(backend, sparing=not held)
    spilled = shape.arrays if backend == "cpu" and not held and not leave_enough(shape.columns, backend) else 0
    checked = (
        ("memory", memory, free_memory(backend), whose_memory(backend)),
        ("disk", (shape.disk() + spilled) * STORED, free_disk(folder), f"at {folder}"),
    )
    for what, needed, free, where in checked:
        if needed * share > free:
            edges = f"{'' if share == 1 else 'about '}{shape.edges:,} edges"
            more = "more " if held else ""
            raise TooLarge(
                f"a graph of {edges} takes at least {size(needed * share)} {more}of {what}, and {size(free)} are free {where}"
            )
