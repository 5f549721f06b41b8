"""A stored reachability index and its table of labels, read as a whole, or by ranks.

Each rank reads the entries of its own rows and of an even share of the nodes. The index numbers rows as the graph is stored, the
ranks as its rows were dealt.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from kernels.answers import Condensation, IndexPart, ReachabilityIndex
from kernels.distributed import Communicator, Owners, Shard, ShardAnswer
from kernels.distributed.dealing import Dealing
from kernels.gpu.loader import to_host
from kernels.graph import OFFSET, Array, Csr, Graph
from kernels.reachability.sharded import labels_of_rows
from pipeline.errors import ProofFailed
from pipeline.store.index.arrays import BITS, LEVELS, NUMBERS, StoredIndex, open_index
from pipeline.store.manifest import Folder
from pipeline.store.shards import of_blocks
from pipeline.tables.answer_table import AnswerTable
from pipeline.tables.batches import with_arrays
from pipeline.tables.forms import LABELS
from pipeline.tables.over_ranks import ShardVertices

_COMPARED = 2**17  # rows at a time, whose columns stay in the processor's caches
_OTHER_VERTICES = "reachability: the vertices of the index are not the graph's"


def read_labels(graph: Graph, table: AnswerTable, stored: StoredIndex) -> ReachabilityIndex:
    """The index whose labels a table shows. Raises ProofFailed where the table differs from the index."""
    if not (np.array_equal(stored.ids, graph.ids) and np.array_equal(stored.rows_by_id, graph.rows_by_id)):
        raise ProofFailed(_OTHER_VERTICES)

    def compare(positions: range, rows: pa.Table) -> None:
        for begin in range(0, len(positions), _COMPARED):
            part = positions[begin : begin + _COMPARED]
            shown = LABELS.batch(graph, stored.index, table.schema, slice(part.start, part.stop))
            for column in table.schema.names:
                if not pa.chunked_array([shown[column]]).equals(rows[column].slice(begin, len(part))):
                    raise ProofFailed(f"reachability: column {column} differs from the index")

    deque(table.groups(0, compare), maxlen=0)
    return stored.index


def read_part(index: Folder, dealing: Dealing, shard: Shard, communicator: Communicator) -> ShardAnswer[IndexPart]:
    """Read the part of an index that `kernels.reachability.sharded` would return. A collective."""
    part, nodes = _own_part(open_index(index), dealing, shard.rank)
    owners = Owners.of_counts(len(nodes), communicator)
    return ShardAnswer(IndexPart(part, nodes, labels_of_rows(owners, part)), owners.supersteps)


def proposed_part(index: Folder, shard: Shard, vertices: ShardVertices, columns: Sequence[Array]) -> IndexPart:
    """The rank's part of an index, with the labels of its rows as the columns of a table state them. A collective.

    Raises ProofFailed where the index has other vertices than the graph, or where an id in the table is not a vertex.
    """
    stored, rows_by_id = open_index(index), vertices.rows_by_id
    size, rank, length = vertices.communicator.size, vertices.communicator.rank, shard.num_vertices
    share = slice(length * rank // size, length * (rank + 1) // size)
    same = np.array_equal(of_blocks(stored.ids, rows_by_id.dealing.blocks(rank)), to_host(vertices.ids))
    if not (same and np.array_equal(stored.rows_by_id[share], rows_by_id.stored[share])):
        raise ProofFailed(_OTHER_VERTICES)
    rows = with_arrays(LABELS.answer(vertices, columns, None), to_host)  # as all of an index's parts over ranks
    return IndexPart(*_own_part(stored, rows_by_id.dealing, rank), rows)


def _own_part(stored: StoredIndex, dealing: Dealing, rank: int) -> tuple[ReachabilityIndex, range]:
    dag, labels, size = stored.index.condensation, stored.index.labels, len(dealing.bounds) - 1
    nodes = range(dag.num_nodes * rank // size, dag.num_nodes * (rank + 1) // size)
    own = slice(nodes.start, nodes.stop)
    node, names = np.array(of_blocks(dag.node, dealing.blocks(rank))), dealing.dealt(np.array(dag.names[own]))
    condensation = Condensation(node, names, _rows(dag.children, own), _rows(dag.parents, own))
    parts: dict[str, Any] = {name: np.array(getattr(labels, name)[own]) for name in (*LEVELS, *BITS)}
    parts |= {name: np.ascontiguousarray(getattr(labels, name)[:, own]) for name in NUMBERS}
    return ReachabilityIndex(condensation, replace(labels, **parts, supports=np.array(labels.supports))), nodes


def _rows(csr: Csr, own: slice) -> Csr:
    offsets = csr.offsets[own.start : own.stop + 1].astype(OFFSET)
    return Csr(offsets - offsets[0], np.array(csr.indices[offsets[0] : offsets[-1]]), None)
