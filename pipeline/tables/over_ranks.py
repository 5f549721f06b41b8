"""The table of an answer that is divided among ranks: every rank writes some of the files and reads some of the row groups.

A table is in the order of external ids, an answer in the order of rows, so the ranks exchange the rows of each row group. A rank
holds the answer for its own rows and a few row groups of the table, never a column of V entries. Arrays are where those of the
shard are: on a GPU they are sorted, gathered and exchanged there.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise, product

import numpy as np
import pyarrow as pa

from kernels.distributed import Communicator, Owners, Shard
from kernels.distributed.columns import exchange_columns, indexed
from kernels.distributed.owners import rounds
from kernels.graph import ID, NO_ROW, OFFSET, Array
from pipeline.errors import ProofFailed
from pipeline.store.shards import DealtRows
from pipeline.tables import files as tables
from pipeline.tables.batches import NO_ID, as_arrays
from pipeline.tables.forms import WRONG_VERTICES, dtype_of_weights, require_known, require_one_label


class ShardVertices:
    """The own rows of a rank; see `pipeline.tables.forms.RankVertices`.

    Attributes:
        ids: int64 [n].
        positions (index width [n]): Positions of the own rows in the order of external ids.
        owners: Of the rows.
    """

    def __init__(self, shard: Shard, communicator: Communicator, rows_by_id: DealtRows) -> None:
        self.ids, self.positions = shard.ids, shard.positions
        self.weight, self.first_row = dtype_of_weights(shard.out), shard.rows.start
        self.owners = Owners(shard.bounds, communicator)
        self.rows_by_id = rows_by_id
        self._known: tuple[Array, Array, Array] | None = None

    @property
    def communicator(self) -> Communicator:
        """The rank's communicator."""
        return self.owners.communicator

    def ids_of(self, rows: Array) -> Array:
        """See `RankVertices.ids_of`."""
        ids = np.full_like(rows, NO_ID, ID)
        for block in self.owners.blocks(len(rows), rows):
            known = rows[block] != NO_ROW
            (ids[block][known],) = self.owners.request(rows[block][known].astype(OFFSET), self.ids)
        return ids

    def rows_of(self, ids: Array) -> Array:
        """See `RankVertices.rows_of`. Every rank stores the ids of an even range of positions."""
        directory, rows = self._directory(), np.empty_like(ids, self.positions.dtype)
        for block in self.owners.blocks(len(ids), ids):
            rows[block] = self._rows_in(directory, ids[block])
        return rows

    def _rows_in(self, directory: tuple[Array, Array, Array], ids: Array) -> Array:
        """The rows of ids by the `_directory` of all ranks. A collective."""
        first, own_ids, own_rows = directory
        own, is_id = np.full_like(ids, NO_ROW, self.positions.dtype), ids >= 0
        wanted, of_wanted = indexed(ids[is_id])
        cuts = np.searchsorted(wanted, first[1:]).tolist()
        parts = [wanted[begin:end] for begin, end in pairwise([0, *cuts, len(wanted)])]
        answers = []
        for requested in self.communicator.exchange(parts):
            positions: Array = np.searchsorted(own_ids, requested)
            inside: Array = positions < len(own_ids)
            inside[inside] = own_ids[positions[inside]] == requested[inside]
            rows = np.full_like(requested, NO_ROW, self.positions.dtype)
            rows[inside] = own_rows[positions[inside]]
            answers.append(rows)
        own[is_id] = np.concatenate(self.communicator.exchange(answers))[of_wanted]
        require_known(ids, own)
        return own

    def labelled(self, ends: Sequence[Array], labels: Array) -> Array:
        """See `RankVertices.labelled`."""
        first = self.first_row
        own = np.arange(first, first + len(self.ids), dtype=self.positions.dtype, like=self.positions)
        is_known = np.zeros_like(own, np.bool_)
        for block, rows in product(self.owners.blocks(len(labels), labels), ends):
            order = np.argsort(rows[block], kind="stable")
            here, given = self.owners.send(rows[block][order].astype(OFFSET), labels[block][order])
            before = is_known[here]
            require_one_label(own, here[before], given[before])
            own[here], is_known[here] = given, True
            require_one_label(own, here, given)
        return own

    def forget(self) -> None:
        """Free what `rows_of` keeps for its next call."""
        self._known = None

    def _directory(self) -> tuple[Array, Array, Array]:
        """The first id of each rank's range of positions, and the ids of this rank's range, ascending, with their rows."""
        if self._known is None:
            size, rank = self.communicator.size, self.communicator.rank
            cuts = [len(self.rows_by_id) * number // size for number in range(size + 1)]
            rows = np.asarray(self.rows_by_id[cuts[rank] : cuts[rank + 1]], like=self.positions)
            ids = self.ids_of(rows)
            first = [int(of[0]) if len(of) else None for of in self.communicator.gather(ids[:1])]
            for number in reversed(range(size)):  # an empty range ends where the next one begins
                following = first[number + 1] if number + 1 < size else np.iinfo(ID).max
                first[number] = following if first[number] is None else first[number]
            self._known = np.asarray(np.array(first, ID), like=ids), ids, rows
        return self._known


def edge_positions(vertices: ShardVertices, src: Array) -> tuple[Array, int]:
    """Places of the own edges in the table of all ranks' edges, int64, and the number of all edges. A collective.

    Args:
        src (index width [E]): Own rows, the edges' endpoints of smaller external id; ascending by external id, then by the other
            endpoint's id.
    """
    communicator = vertices.communicator
    owners = Owners.evenly(len(vertices.rows_by_id), communicator)
    ranks = vertices.positions[src - vertices.first_row].astype(OFFSET)
    begins = np.ones_like(ranks, np.bool_)
    begins[1:] = ranks[1:] != ranks[:-1]
    first, of_edge, numbers = np.flatnonzero(begins), np.cumsum(begins) - 1, np.arange(len(src), like=ranks)
    count = np.diff(np.concatenate([first, np.asarray(np.array([len(src)]), like=first)]))
    here, of_row = owners.send(ranks[first], count)
    edges = np.zeros(len(owners.own), OFFSET, like=ranks)
    edges[here] = of_row
    totals = np.concatenate(communicator.gather(np.array([int(edges.sum())], OFFSET)))
    before = int(totals[: communicator.rank].sum())
    (start,) = owners.request(ranks[first], np.cumsum(edges) - edges + before)
    return (start - first)[of_edge] + numbers, int(totals.sum())


class Spread:
    """Sends the table rows that this rank has to the ranks that write them.

    Args:
        positions (integer [k]): Those in the table, from 0, of the rows that this rank has.
    """

    def __init__(self, communicator: Communicator, positions: Array) -> None:
        self._communicator = communicator
        self._order = np.argsort(positions)
        self._positions = positions[self._order]

    def groups(self, columns: Sequence[Array], total: int, first_file: int) -> Iterator[tuple[int, list[Array]]]:
        """Yield the row groups that this rank writes, each with the number of its file. A collective.

        File number f is written by rank f modulo the number of ranks; all ranks write at the same time.

        Args:
            columns: arrays [k].
            total: Rows of all ranks.
            first_file: Number of the file in which the answer's rows begin.
        """
        size, rank, files = self._communicator.size, self._communicator.rank, tables.files_of(total)
        for turn in range(0, files, size):
            of_rank = [turn + (number - first_file - turn) % size for number in range(size)]
            for within in range(0, max(1, min(total, tables.ROWS_PER_FILE)), tables.ROWS_PER_GROUP):
                groups = [_group(file, within, total) if file < files else range(0) for file in of_rank]
                taken = self._exchange(groups, columns)
                if of_rank[rank] < files and (groups[rank] or not within):
                    yield first_file + of_rank[rank], taken

    def _exchange(self, groups: Sequence[range], columns: Sequence[Array]) -> list[Array]:
        """Send every rank the rows of its row group that this rank has; return the columns of this rank's row group."""
        own = groups[self._communicator.rank]
        taken = [np.zeros(len(own), column.dtype, like=column) for column in columns]
        for block in rounds(max(map(len, groups)), self._positions):
            blocks = [group[block] for group in groups]
            bounds = np.array([(block.start, block.stop) for block in blocks], self._positions.dtype).ravel()
            ends = iter(np.searchsorted(self._positions, np.asarray(bounds, like=self._positions)).tolist())
            cuts = [slice(*cut) for cut in zip(ends, ends, strict=True)]
            parts = [self._positions[cut] - group.start for cut, group in zip(cuts, groups, strict=True)]
            sent = ([column[self._order[cut]] for cut in cuts] for column in columns)
            here, *received = exchange_columns(self._communicator, parts, *sent)
            for column, values in zip(taken, received, strict=True):
                column[here] = values
        return taken


def _group(file: int, within: int, total: int) -> range:
    """Rows of the row group that begins at row `within` of file `file` of an answer of `total` rows."""
    begin, end = file * tables.ROWS_PER_FILE, min((file + 1) * tables.ROWS_PER_FILE, total)
    return range(min(begin + within, end), min(begin + within + tables.ROWS_PER_GROUP, end))


def _to_owners(vertices: ShardVertices, rows: Array, columns: Sequence[Array]) -> tuple[Array, list[Array]]:
    """Send each row's entry of the columns to the row's owner; entries from one sender keep their order. A collective.

    Returns:
        here (integer): The received entries' rows, as places among the own rows, in rank order of the senders.
        columns (list of arrays): Their values.
    """
    owners = vertices.owners
    owner = np.searchsorted(np.asarray(owners.bounds.astype(rows.dtype), like=rows), rows, side="right") - 1
    order = np.argsort(owner, kind="stable")
    ends = np.searchsorted(owner[order], np.arange(owners.communicator.size + 1, like=owner)).tolist()
    cuts = [order[begin:end] for begin, end in pairwise(ends)]
    sent = ([column[cut] for cut in cuts] for column in (rows, *columns))
    first, *received = exchange_columns(owners.communicator, *sent)
    return first - owners.start, received


def _placed(vertices: ShardVertices, table: pa.Table) -> list[Array]:
    """The columns of a table where the vertices' arrays are."""
    return [np.asarray(column, like=vertices.ids) for column in as_arrays(table)]


def own_rows(vertices: ShardVertices, groups: Iterator[tuple[range, pa.Table]]) -> list[Array]:
    """Columns of a table of vertices, of the own rows in their order. Raises ProofFailed if it has other vertices."""
    columns: list[Array] = []
    for positions, table in groups:
        for block in vertices.owners.blocks(len(table), vertices.ids):
            some = positions[block]
            rows = np.asarray(vertices.rows_by_id[some.start : some.stop], like=vertices.positions)
            here, received = _to_owners(vertices, rows, _placed(vertices, table[block]))
            columns = columns or [np.zeros(len(vertices.ids), column.dtype, like=column) for column in received]
            for column, values in zip(columns, received, strict=True):
                column[here] = values
        position = table.schema.get_field_index("vertex")
        del table  # before the next row group is read
    if not (columns[position] == vertices.ids).all():
        raise ProofFailed(WRONG_VERTICES)
    return columns


def own_edges(vertices: ShardVertices, groups: Iterator[tuple[range, pa.Table]]) -> list[Array]:
    """Columns of a table of edges, of those whose `src` is an own row. Raises ProofFailed unless the table ascends."""
    received: list[list[Array]] = []
    last = (-1, -1)
    for _, table in groups:
        columns = _placed(vertices, table)
        last = require_ascending("mst: the edges", vertices.communicator, columns, last)
        received.append(_to_owners(vertices, vertices.rows_of(columns[0]), columns)[1])
        del table, columns  # before the next row group is read
    return [np.concatenate([parts.pop(0) for parts in received]) for _ in range(len(received[0]))]


def require_ascending(what: str, ranks: Communicator, columns: Sequence[Array], last: tuple[int, int]) -> tuple[int, int]:
    """Raise ProofFailed unless all ranks' row groups ascend by two columns, from row `last` on; return their last row."""
    src, dst, *_ = columns
    ends = np.array([int(column[end]) for end in (0, -1) for column in (src, dst)] if len(src) else [], ID)
    for of_rank in ranks.gather(ends):
        if len(of_rank):
            first_src, first_dst, last_src, last_dst = of_rank.tolist()
            if (first_src, first_dst) <= last:
                raise ProofFailed(f"{what} do not ascend")
            last = last_src, last_dst
    if not ((src[1:] > src[:-1]) | ((src[1:] == src[:-1]) & (dst[1:] > dst[:-1]))).all():
        raise ProofFailed(f"{what} do not ascend")
    return last
