"""A stored graph that several ranks hold together, a shard each; see `HeldGraph`.

The rank's answer covers its own rows only, from the kernel to the table: no rank ever has a column of all vertices.
"""

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa

from kernels.algorithm import Algorithm
from kernels.answers import Certificate
from kernels.distributed import Communicator, ShardAnswer
from kernels.graph import OFFSET
from pipeline.store.counting import decimals_of
from pipeline.store.manifest import Folder
from pipeline.store.shards import DealtRows, DealtShard
from pipeline.store.vertices import rows_by_id_in_blocks
from pipeline.tables import files as tables
from pipeline.tables.answer_table import AnswerTable, in_units
from pipeline.tables.batches import as_batch, with_arrays
from pipeline.tables.forms import TableForm
from pipeline.tables.over_ranks import ShardVertices, Spread, edge_positions, own_edges, own_rows


class ShardOfGraph:
    """One rank's shard of a graph.

    Attributes:
        shard: Its rows in the order in which they were dealt.
        vertices: The same rows, for tables.
    """

    threads = 1  # all ranks have to run the same collectives in the same order

    def __init__(self, folder: Folder, held: DealtShard, communicator: Communicator) -> None:
        self.communicator = communicator
        self._folder, self.shard, self._dealing = folder, held.shard, held.dealing
        self.vertices = ShardVertices(held.shard, communicator, DealtRows(rows_by_id_in_blocks(folder), held.dealing))

    @cached_property
    def _ascending(self) -> Spread:
        """The own rows in a table of vertices; a proof, which writes none, does not make it."""
        return Spread(self.communicator, self.vertices.positions)

    def row(self, stored_row: int) -> int:
        """See `HeldGraph.row`."""
        return int(self._dealing.dealt(np.array([stored_row], OFFSET))[0])

    def solver(self, algorithm: Algorithm) -> Callable[..., ShardAnswer[Any]]:
        """See `HeldGraph.solver`."""
        return partial(algorithm.resolve("sharded_solver"), self.shard, self.communicator)

    def certifier(self, algorithm: Algorithm) -> Callable[..., Certificate]:
        """See `HeldGraph.certifier`."""
        return partial(algorithm.resolve("sharded_certificate"), self.shard, self.communicator)

    def seeded_solver(self, algorithm: Algorithm) -> Callable[..., list[ShardAnswer[Any]]]:
        """See `HeldGraph.seeded_solver`."""
        return partial(algorithm.resolve("sharded_seeded_solver"), self.shard, self.communicator)

    def seeded_certifier(self, algorithm: Algorithm) -> Callable[..., list[Certificate]]:
        """See `HeldGraph.seeded_certifier`."""
        return partial(algorithm.resolve("sharded_seeded_certificate"), self.shard, self.communicator)

    def batches(self, form: TableForm, answer: Any, schema: pa.Schema, number: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """See `HeldGraph.batches`. The ranks exchange one row group after the other."""
        here = self._placed(answer)
        if form.of_vertices:
            spread, total = self._ascending, self.shard.num_vertices
        else:
            positions, total = edge_positions(self.vertices, here.src)
            spread = Spread(self.communicator, positions)
        first, _ = tables.position_of(number, total, 0)
        for file, columns in spread.groups(form.columns(self.vertices, here), total, first):
            yield file, as_batch(columns, schema, decimals_of(self._folder))

    def read(self, table: AnswerTable, number: int) -> Any:
        """See `HeldGraph.read`."""
        form, groups = table.form, table.row_groups(number, self.communicator)
        columns = own_rows(self.vertices, groups) if form.of_vertices else own_edges(self.vertices, groups)
        named = in_units(dict(zip(table.schema.names, columns, strict=True)), table.algorithm, decimals_of(self._folder))
        answer = self._placed(form.answer(self.vertices, [*named.values()], table.source(number)))
        if number + 1 == table.facts.num_answers:
            self.vertices.forget()
        return answer

    def _placed(self, answer: Any) -> Any:
        """An answer with its arrays where the shard's are."""
        return with_arrays(answer, lambda array: np.asarray(array, like=self.shard.ghosts))
