"""A stored graph as a group of ranks holds it, from the kernel to the table: whole on one rank, or in shards.

Every step is written once, over this interface, and runs on each rank of a group. `TaskContext.graph` chooses the implementation.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from kernels.algorithm import Algorithm
from kernels.answers import Certificate
from kernels.distributed import Communicator, ShardAnswer
from kernels.graph import Array
from pipeline.config.stages import ReachabilityConfig
from pipeline.runtime.backend import Backend
from pipeline.store.manifest import Folder
from pipeline.tables.answer_table import AnswerTable
from pipeline.tables.forms import TableForm


class Slice(NamedTuple):
    """A rank's part of a stored array: entries from `first` on, of `length`, along the array's last axis; NumPy's or CuPy's."""

    name: str
    values: Array
    first: int
    length: int


class HeldGraph(Protocol):
    """One rank's view of a stored graph. Where the group has several ranks, all methods are collectives."""

    @property
    def communicator(self) -> Communicator:
        """The rank's communicator; of size 1 where one rank holds the whole graph."""

    @property
    def threads(self) -> int:
        """How many answers may be computed at the same time."""

    def row(self, stored_row: int) -> int:
        """The number that kernels use for a stored row."""

    def solver(self, algorithm: Algorithm) -> Callable[..., ShardAnswer[Any]]:
        """`solve(*source, **options)` returns this rank's part of the answer from a row."""

    def certifier(self, algorithm: Algorithm) -> Callable[..., Certificate]:
        """`certify(answer, **options)` checks what `read` returned."""

    def seeded_solver(self, algorithm: Algorithm) -> Callable[..., list[ShardAnswer[Any]]]:
        """`solve(personalizations, **options)` returns this rank's parts of the answers from seeds."""

    def seeded_certifier(self, algorithm: Algorithm) -> Callable[..., list[Certificate]]:
        """`certify(answers, personalizations, **options)` checks answers from seeds."""

    def batches(self, form: TableForm, answer: Any, schema: pa.Schema, number: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The rows of the table that this rank writes of answer `number`, each batch with the number of its file."""

    def read(self, table: AnswerTable, number: int) -> Any:
        """The rank's part of answer `number` of a table. Raises ProofFailed if the table's rows cannot be an answer."""


class HeldIndex(HeldGraph, Protocol):
    """One rank's view of a stored graph and of its reachability index; `batches` and `read` are those of the index's labels."""

    def index_reader(self, index: Folder) -> Callable[[], ShardAnswer[Any]]:
        """A solver that reads this rank's part of a stored index."""

    def index_memory(self, config: ReachabilityConfig, dimensions: range) -> tuple[str, int, Backend]:
        """What an index in these dimensions is called, how many bytes building it takes here, and in which memory."""

    def index_builder(self, config: ReachabilityConfig, dimensions: range) -> Callable[[], ShardAnswer[Any]]:
        """A solver that builds this rank's part of an index in some of its dimensions."""

    def index_slices(self, part: Any) -> Iterator[Slice]:
        """The rank's part of every array of the folder of an index."""
