"""The table of an answer that is divided among ranks: every rank writes some of the files and reads some of the row groups.

A table is in the order of external ids, an answer in the order of rows, so the ranks exchange the rows of each row group. A rank
holds the answer for its own rows and one row group of the table, never a column of V entries.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from kernels.distributed import Communicator, Owners, Shard
from kernels.gpu.loader import to_host
from kernels.graph import ID, NO_ROW, OFFSET, Array
from pipeline.errors import ProofFailed
from pipeline.store.shards import DealtRows
from pipeline.tables import files as tables
from pipeline.tables.forms import NO_ID, WRONG_VERTICES, as_arrays, require_known, require_one_label, weight_type


class OwnVertices:
    """The own rows of a rank, in host memory; see `pipeline.tables.forms.Vertices`.

    Attributes:
        ids: int64 [n].
        positions (index width [n]): Positions of the own rows in the order of external ids.
        owners: Of the rows.
    """

    def __init__(self, shard: Shard, communicator: Communicator, rows_by_id: DealtRows) -> None:
        self.ids, self.positions = to_host(shard.ids), to_host(shard.positions)
        self.weight, self.first_row = weight_type(shard.out), shard.rows.start
        self.owners = Owners(shard.bounds, communicator)
        self.rows_by_id = rows_by_id
        self._known: tuple[Array, Array, Array] | None = None

    @property
    def communicator(self) -> Communicator:
        """The rank's communicator."""
        return self.owners.communicator

    def ids_of(self, rows: Array) -> Array:
        """See `Vertices.ids_of`."""
        ids = np.full(len(rows), NO_ID, ID)
        own = (rows >= self.first_row) & (rows < self.first_row + len(self.ids))
        others = ~own & (rows != NO_ROW)
        ids[own] = self.ids[rows[own] - self.first_row]
        (ids[others],) = self.owners.request(rows[others].astype(OFFSET), self.ids)
        return ids

    def rows_of(self, ids: Array) -> Array:
        """See `Vertices.rows_of`. Every rank stores the ids of an even range of positions."""
        first, own_ids, own_rows = self._directory()
        wanted, place = np.unique(ids, return_inverse=True)
        parts = np.split(wanted, np.searchsorted(wanted, first[1:]))
        answers = []
        for asked in self.communicator.exchange(parts):
            places: Array = np.searchsorted(own_ids, asked)
            inside: Array = places < len(own_ids)
            inside[inside] = own_ids[places[inside]] == asked[inside]
            rows = np.full(len(asked), NO_ROW, self.positions.dtype)
            rows[inside] = own_rows[places[inside]]
            answers.append(rows)
        rows = np.concatenate(self.communicator.exchange(answers))
        require_known(wanted, rows)
        found: Array = rows[place]
        return found

    def labelled(self, ends: Sequence[Array], labels: Array) -> Array:
        """See `Vertices.labelled`."""
        rows, labels = np.concatenate(ends), np.concatenate([labels] * len(ends))
        order = np.argsort(rows, kind="stable")
        here, given = self.owners.send(rows[order].astype(OFFSET), labels[order])
        own = np.arange(self.first_row, self.first_row + len(self.ids), dtype=self.positions.dtype)
        own[here] = given
        require_one_label(own, here, given)
        return own

    def _directory(self) -> tuple[Array, Array, Array]:
        """The first id of each rank's range of positions, and the ids of this rank's range, ascending, with their rows."""
        if self._known is None:
            size, rank = self.communicator.size, self.communicator.rank
            cuts = [len(self.rows_by_id) * number // size for number in range(size + 1)]
            rows = self.rows_by_id[cuts[rank] : cuts[rank + 1]]
            ids = self.ids_of(rows)
            first = [int(of[0]) if len(of) else None for of in self.communicator.gather(ids[:1])]
            for number in reversed(range(size)):  # an empty range ends where the next one begins
                following = first[number + 1] if number + 1 < size else np.iinfo(ID).max
                first[number] = following if first[number] is None else first[number]
            self._known = np.array(first, ID), ids, rows
        return self._known


def edge_places(vertices: OwnVertices, src: Array) -> tuple[Array, int]:
    """Places of the own edges in the table of all ranks' edges, int64, and the number of all edges. A collective.

    Args:
        src (index width [E]): Own rows, the edges' endpoints of smaller external id; ascending by external id, then by the other
            endpoint's id.
    """
    communicator = vertices.communicator
    size, num_vertices = communicator.size, len(vertices.rows_by_id)
    places = Owners(np.array([num_vertices * rank // size for rank in range(size + 1)], OFFSET), communicator)
    ranks = vertices.positions[src - vertices.first_row].astype(OFFSET)
    numbers, first, count = np.unique(ranks, return_index=True, return_counts=True)
    here, of_row = places.send(numbers, count)
    edges = np.zeros(len(places.own), OFFSET)
    edges[here] = of_row
    totals = np.concatenate(communicator.gather(edges.sum(keepdims=True)))
    (start,) = places.request(numbers, np.cumsum(edges) - edges + totals[: communicator.rank].sum())
    return np.repeat(start - first, count) + np.arange(len(src)), int(totals.sum())


class Spread:
    """Sends the table rows that this rank has to the ranks that write them.

    Args:
        places (integer [k]): Places in the table, from 0, of the rows that this rank has.
    """

    def __init__(self, communicator: Communicator, places: Array) -> None:
        self._communicator = communicator
        self._order = np.argsort(places)
        self._places = places[self._order]

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
        cuts = [slice(*np.searchsorted(self._places, [group.start, group.stop])) for group in groups]
        parts = [self._places[cut] - group.start for cut, group in zip(cuts, groups, strict=True)]
        here = np.concatenate(self._communicator.exchange(parts))
        taken = []
        for column in columns:
            values = np.concatenate(self._communicator.exchange([column[self._order[cut]] for cut in cuts]))
            taken.append(np.zeros(len(groups[self._communicator.rank]), values.dtype))
            taken[-1][here] = values
        return taken


def _group(file: int, within: int, total: int) -> range:
    """Rows of the row group that begins at row `within` of file `file` of an answer of `total` rows."""
    begin, end = file * tables.ROWS_PER_FILE, min((file + 1) * tables.ROWS_PER_FILE, total)
    return range(min(begin + within, end), min(begin + within + tables.ROWS_PER_GROUP, end))


def to_owners(bounds: Array, communicator: Communicator, rows: Array, columns: Sequence[Array]) -> tuple[Array, list[Array]]:
    """Send each row's entry of the columns to the row's owner; entries from one sender keep their order. A collective.

    Returns:
        here (integer): The received entries' rows, as places among the own rows, in rank order of the senders.
        columns (list of arrays): Their values.
    """
    owner: Array = np.searchsorted(bounds, rows, side="right") - 1
    order = np.argsort(owner, kind="stable")
    ends = np.searchsorted(owner[order], np.arange(communicator.size + 1))
    cuts = [order[begin:end] for begin, end in pairwise(ends.tolist())]
    first, *received = (np.concatenate(communicator.exchange([column[cut] for cut in cuts])) for column in (rows, *columns))
    return first - bounds[communicator.rank], received


def own_rows(vertices: OwnVertices, groups: Iterator[tuple[range, pa.Table]]) -> list[Array]:
    """Columns of a table of vertices, of the own rows in their order. Raises ProofFailed if it has other vertices."""
    columns: list[Array] = []
    for places, table in groups:
        rows = vertices.rows_by_id[places.start : places.stop]
        here, received = to_owners(vertices.owners.bounds, vertices.communicator, rows, as_arrays(table))
        columns = columns or [np.zeros(len(vertices.ids), column.dtype) for column in received]
        for column, values in zip(columns, received, strict=True):
            column[here] = values
        position = table.schema.get_field_index("vertex")
    if not np.array_equal(columns[position], vertices.ids):
        raise ProofFailed(WRONG_VERTICES)
    return columns


def own_edges(vertices: OwnVertices, groups: Iterator[tuple[range, pa.Table]]) -> list[Array]:
    """Columns of a table of edges, of those whose `src` is an own row. Raises ProofFailed unless the table ascends."""
    received: list[list[Array]] = []
    last = (-1, -1)
    for _, table in groups:
        columns = as_arrays(table)
        last = _require_ascending(vertices.communicator, columns[0], columns[1], last)
        rows = vertices.rows_of(columns[0])
        received.append(to_owners(vertices.owners.bounds, vertices.communicator, rows, columns)[1])
    return [np.concatenate(parts) for parts in zip(*received, strict=True)]


def _require_ascending(ranks: Communicator, src: Array, dst: Array, last: tuple[int, int]) -> tuple[int, int]:
    """Raise ProofFailed unless the edges of all ranks' row groups ascend from edge `last` on; return their last edge."""
    ends = np.stack([src[[0, -1]], dst[[0, -1]]], axis=1).ravel() if len(src) else src[:0]
    for of_rank in ranks.gather(ends):
        if len(of_rank):
            first_src, first_dst, last_src, last_dst = of_rank.tolist()
            if (first_src, first_dst) <= last:
                raise ProofFailed("mst: the edges do not ascend")
            last = last_src, last_dst
    if not ((src[1:] > src[:-1]) | ((src[1:] == src[:-1]) & (dst[1:] > dst[:-1]))).all():
        raise ProofFailed("mst: the edges do not ascend")
    return last
