"""The GPUs that the machine emulates, and the limits of each: CUDA C++ Programming Guide, technical specifications.

EMULATED_GPU lists their compute capabilities: "8.6", or "8.0,9.0" for two GPUs; 1 is one GPU of 8.0.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

PROCESSORS = 3  # not a power of two, to find wrong assumptions; few, because time grows with the number of threads
STATIC_BYTES = 48 << 10  # of a block's shared memory that the compiler may assign; more needs permission at run time
PORTABLE_CLUSTER = 8  # blocks of a cluster that needs no permission
_RESERVED_BYTES = 1 << 10  # of shared memory in addition to a block's own


@dataclass(frozen=True)
class Architecture:
    """Limits of a GPU.

    Attributes:
        capability: Compute capability, for example "8.6".
        block_bytes: Shared memory of a block, static and dynamic.
        threads, blocks: Of a multiprocessor.
        cluster: Blocks of a cluster; 1 if there are no clusters. A part of a GPU (MIG) may have fewer than its architecture.
    """

    capability: str
    block_bytes: int
    threads: int
    blocks: int
    cluster: int = 1

    def blocks_per_processor(self, threads: int, shared: int) -> int:
        """Blocks of `threads` threads and `shared` bytes that are resident on a multiprocessor at a time."""
        if shared > self.block_bytes:
            return 0
        in_memory = (self.block_bytes + _RESERVED_BYTES) // (shared + _RESERVED_BYTES)
        return min(self.blocks, self.threads // threads, in_memory)


ARCHITECTURES = {
    found.capability: found
    for found in (
        Architecture("7.5", 64 << 10, 1024, 16),  # not supported by the kernels
        Architecture("8.0", 163 << 10, 2048, 32),
        Architecture("8.6", 99 << 10, 1536, 16),
        Architecture("8.9", 99 << 10, 1536, 24),
        Architecture("9.0", 227 << 10, 2048, 32, 16),
        Architecture("10.0", 227 << 10, 2048, 32, 16),
        Architecture("12.0", 99 << 10, 1536, 24, 8),
    )
}


class Current(threading.local):
    """The number of a thread's GPU; the attribute of the class is what threads start with."""

    number = 0


CURRENT = Current()
_asked = os.environ.get("EMULATED_GPU", "1")
GPUS = [ARCHITECTURES[capability] for capability in ("8.0" if _asked == "1" else _asked).split(",")]


def current() -> Architecture:
    """This thread's GPU."""
    return GPUS[CURRENT.number]


@contextmanager
def using(gpu: Architecture) -> Iterator[None]:
    """Add a GPU, which all threads use at first. Its number is new, so that nothing that is cached for another GPU is used."""
    GPUS.append(gpu)
    vars(CURRENT).clear()  # what `Device.use` has set for this thread
    before, Current.number = Current.number, len(GPUS) - 1
    try:
        yield
    finally:
        Current.number = before
