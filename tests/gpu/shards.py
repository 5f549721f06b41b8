"""Run a sharded kernel with threads as ranks, all on one GPU."""

# ruff: noqa: E402  (the imports below need CuPy)
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

cupy = pytest.importorskip("cupy")

from kernels.arrays import is_cupy_array
from kernels.distributed import Communicator, Shard, ShardAnswer
from kernels.distributed.assembly import to_device
from kernels.graph import Array, Graph
from tests.gpu.inputs import poison
from tests.sharded.ranks import on_shards


@cache
def on_gpu(kernel: Callable[..., ShardAnswer[Any]]) -> Callable[..., ShardAnswer[Any]]:
    """The same kernel on CuPy copies of a NumPy shard; the answer is copied to NumPy arrays."""

    def run(shard: Shard, communicator: Communicator, *arguments: Any) -> ShardAnswer[Any]:
        on_device = to_device(shard)
        poison(1 << 20)
        part = kernel(on_device, communicator, *arguments)
        arrays = vars(part.answer)
        assert all(is_cupy_array(array) for array in arrays.values() if hasattr(array, "dtype"))
        on_host = {name: cupy.asnumpy(array) for name, array in arrays.items() if is_cupy_array(array)}
        return replace(part, answer=replace(part.answer, **on_host))

    return run


def on_gpu_shards(
    kernel: Callable[..., ShardAnswer[Any]], graph: Graph, bounds: Array, *arguments: Any
) -> list[ShardAnswer[Any]]:
    """The parts of all ranks, in rank order."""
    return on_shards(on_gpu(kernel), graph, bounds, *arguments)
