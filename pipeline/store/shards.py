"""Shards of a stored graph for the ranks that share it: each reads its own rows, however the stored graph itself is cut.

Stored rows become dealt ones here, and where something else that is stored by rows meets a shard: `DealtRows`, the sources of a
stage, and the index (`pipeline.store.index_parts`, `pipeline.steps.index`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Lock

import numpy as np

from kernels.arrays import ArcMemory
from kernels.distributed.assembly import assemble
from kernels.distributed.communicator import Communicator
from kernels.distributed.dealing import Dealing, deal
from kernels.distributed.shard import Shard
from kernels.graph import OFFSET, Array, Csr
from pipeline.errors import BadConfig
from pipeline.runtime.backend import Backend
from pipeline.runtime.memory import free_memory
from pipeline.store.arrays import InPieces
from pipeline.store.graph import arcs_before, open_rows, open_vertices, rows_by_id_in_pieces
from pipeline.store.manifest import Folder

together: ContextVar[int] = ContextVar("together", default=1)  # how many ranks of a graph this process has
_ROOM = 4  # times the arcs of its shards that a GPU has to have free, for the kernels' own arrays


@dataclass(frozen=True)
class DealtRows:
    """The dealt rows in the order of their external ids, to be read slice by slice.

    Attributes
    ----------
    stored : InPieces
        The stored rows in that order.
    dealing : Dealing
    """

    stored: InPieces
    dealing: Dealing

    def __len__(self) -> int:
        return len(self.stored)

    def __getitem__(self, piece: slice) -> Array:
        return self.dealing.dealt(self.stored[piece])


@dataclass(frozen=True)
class Seat:
    """What a rank has of a stored graph, and how its rows were dealt."""

    shard: Shard
    dealing: Dealing


_seats: OrderedDict[tuple[str, Backend, int, int], Seat] = OrderedDict()  # of this process, the one used last at the end
_placing = Lock()


def dealing_of(graph: Folder, size: int) -> Dealing:
    """Share the rows among `size` ranks; with a look into the memory maps here and there."""
    num_vertices, before = graph.facts["vertices"], arcs_before(graph)

    def cut(parts: int, per_row: int) -> tuple[Array, Array]:
        def cost(row: int) -> int:
            return before(row) + per_row * row

        total = cost(num_vertices)
        stops = [bisect_left(range(1, num_vertices + 1), total * part // parts, key=cost) for part in range(1, parts)]
        cuts = [0, *stops, num_vertices]
        return np.array(cuts, OFFSET), np.array([before(row) for row in cuts], OFFSET)

    return deal(cut, size)


def of_pieces(column: Array, pieces: Sequence[range]) -> Array:
    """The entries of these ranges of rows: a view of `column`, which may be a memory map, where there is one range."""
    parts = [column[rows.start : rows.stop] for rows in pieces]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def load_shard(graph: Folder, dealing: Dealing, rank: int, backend: Backend = "cpu") -> Shard:
    """Read the shard of a rank; no more than its own rows, and the others' numbers in pieces. Raises Damaged as `open_graph`."""
    pieces = dealing.blocks(rank)
    out, into = open_rows(graph, pieces)
    ids = of_pieces(open_vertices(graph)[0], pieces)
    place = _place(out if into is out else [*out, *into]) if backend == "gpu" else None
    return assemble(rank, dealing, ids, rows_by_id_in_pieces(graph), out, into, place)


def placed(graph: Folder, ranks: Communicator, backend: Backend) -> Seat:
    """Give what a rank has; a process keeps what its ranks used last, so that the steps of a run load shards once.

    Raises
    ------
    BadConfig
        The graph's folder is not there.
    Damaged
        As `open_graph`.
    """
    key = graph.digest, backend, ranks.size, ranks.rank
    with _placing:
        found = _seats.get(key)
        if found is None and not graph.path.exists():
            raise BadConfig(f"cluster: a worker does not see {graph.path}; the output folder must be one that all hosts share")
        _keep(together.get() - (found is None))  # first, so that there is room
    if found is None:
        dealing = dealing_of(graph, ranks.size)
        found = Seat(load_shard(graph, dealing, ranks.rank, backend), dealing)
    with _placing:
        _seats[key] = found
        _seats.move_to_end(key)
        _keep(together.get())
    return found


def _keep(most: int) -> None:
    while len(_seats) > most:
        _seats.popitem(last=False)


def _place(parts: Sequence[Csr]) -> ArcMemory:
    """Where the arcs of a shard fit: into the GPU, or beside it."""
    arrays = [array for csr in parts for array in (csr.indices, csr.weights) if array is not None]
    needed = sum(array.nbytes for array in arrays) * together.get()
    return "device" if _ROOM * needed < free_memory("gpu") else "host"
