"""Ranks that are threads of one process, each on its own GPU: they copy the parts of others from their GPUs' memory."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import cupy

from kernels.arrays import is_cupy_array
from kernels.distributed.communicator import Communicator
from kernels.distributed.threads import ThreadRank
from kernels.graph import Array

Result = TypeVar("Result")


class _OnOwnGpu(ThreadRank):
    """Streams of two GPUs do not wait for each other: parts, and the copies of them, are complete at the barriers."""

    def _ready(self, parts: Sequence[Array]) -> list[Array]:
        made = [cupy.ascontiguousarray(part) if is_cupy_array(part) else part for part in parts]
        cupy.cuda.get_current_stream().synchronize()
        return made

    def _copied(self, sent: Sequence[Array], like: Array, buffers: Sequence[Array] | None) -> list[Array]:
        received = super()._copied(list(map(_brought, sent)), like, buffers)
        cupy.cuda.get_current_stream().synchronize()
        return received


def on_gpus(count: int, function: Callable[[Communicator], Result]) -> Callable[[ThreadRank], Result]:
    """What `run_ranks` calls to let each rank call `function` on one of `count` GPUs, in turn."""

    def run(rank: ThreadRank) -> Result:
        with cupy.cuda.Device(rank.rank % count):
            return function(_OnOwnGpu(rank.rank, rank.outboxes, rank.barrier))

    return run


def _brought(part: Array) -> Array:
    """A part in the memory of this thread's GPU, or in the host's."""
    if not is_cupy_array(part) or part.device == cupy.cuda.Device():
        return part
    here = cupy.empty(part.shape, part.dtype)
    here.data.copy_from_device_async(part.data, part.nbytes)
    brought: Array = here
    return brought
