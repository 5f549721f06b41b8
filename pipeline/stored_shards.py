"""Shards of a stored graph for the ranks that share it: each reads its own rows, however the stored graph itself is cut."""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from contextvars import ContextVar
from threading import Lock

import numpy as np

from kernels.graph import OFFSET, Array, Csr
from kernels.sharded.communicator import Communicator
from kernels.sharded.shard import Place, Shard, assemble
from pipeline.backend import Backend
from pipeline.errors import BadConfig
from pipeline.manifest import Folder
from pipeline.room import free_memory
from pipeline.stored_graph import arcs_before, open_rows, open_vertices, rows_by_id_in_pieces

together: ContextVar[int] = ContextVar("together", default=1)  # how many ranks of a graph this process has
_ROOM = 4  # times the arcs of its shards that a GPU has to have free, for the kernels' own arrays

_shards: OrderedDict[tuple[str, Backend, int, int], Shard] = OrderedDict()  # of this process, the one used last at the end
_placing = Lock()


def bounds_of(graph: Folder, size: int) -> Array:
    """Cut the rows where `size` ranks have about equally many arcs, as `kernels.sharded.shard.even_bounds`: int64 [size + 1]."""
    num_vertices, before = graph.facts["vertices"], arcs_before(graph)
    arcs = before(num_vertices)
    stops = [bisect_left(range(1, num_vertices + 1), arcs * rank // size, key=before) for rank in range(1, size)]
    return np.array([0, *stops, num_vertices], OFFSET)


def load_shard(graph: Folder, rank: int, size: int, backend: Backend = "cpu") -> Shard:
    """Read one of `size` shards; no more than its own rows, and the others' numbers in pieces. Raises Damaged as `open_graph`."""
    bounds = bounds_of(graph, size)
    rows = range(int(bounds[rank]), int(bounds[rank + 1]))
    out, into = open_rows(graph, rows)
    ids = open_vertices(graph)[0][rows.start : rows.stop]
    place = _place((out,) if into is out else (out, into)) if backend == "gpu" else None
    return assemble(rank, bounds, ids, rows_by_id_in_pieces(graph), out, into, place)


def placed(graph: Folder, ranks: Communicator, backend: Backend) -> Shard:
    """Give the shard of a rank; a process keeps those that its ranks used last, so that the steps of a run load them once.

    Raises
    ------
    BadConfig
        The graph's folder is not there.
    Damaged
        As `open_graph`.
    """
    key = graph.digest, backend, ranks.size, ranks.rank
    with _placing:
        found = _shards.get(key)
        if found is None and not graph.path.exists():
            raise BadConfig(f"cluster: a worker does not see {graph.path}; the output folder must be one that all hosts share")
        _keep(together.get() - (found is None))  # first, so that there is room
    shard = found or load_shard(graph, ranks.rank, ranks.size, backend)
    with _placing:
        _shards[key] = shard
        _shards.move_to_end(key)
        _keep(together.get())
    return shard


def _keep(most: int) -> None:
    while len(_shards) > most:
        _shards.popitem(last=False)


def _place(directions: tuple[Csr, ...]) -> Place:
    """Where the arcs of a shard fit: into the GPU, or beside it."""
    arrays = [array for csr in directions for array in (csr.indices, csr.weights) if array is not None]
    needed = sum(array.nbytes for array in arrays) * together.get()
    return "device" if _ROOM * needed < free_memory("gpu") else "host"
