"""What compares two blocks of a table with the same range of keys: on the CPU (`on_cpu`), or on a GPU (`on_gpu`)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from kernels.graph import Array

KINDS = ("added", "removed", "changed")  # by the numbers of kernels.comparison.constants


@dataclass(frozen=True)
class Columns:
    """The columns that both versions of a table have."""

    keys: list[str]
    values: list[str]
    ids: set[str]  # columns of ids, whose differences have no size


@dataclass(frozen=True)
class Places:
    """Where two blocks differ, in the order of the keys.

    Attributes:
        old, new (int64 [n]): The rows of the old and of the new block that differ; -1 where the block has not the key.
        unequal (bool [n] each): For each column where its values differ; not where a key was added or removed.
    """

    old: Array
    new: Array
    unequal: dict[str, Array]


class Pair(Protocol):
    """Two blocks, sorted by their keys."""

    @property
    def old(self) -> pa.Table:
        """The block of the old version."""

    @property
    def new(self) -> pa.Table:
        """The block of the new version."""

    @property
    def names(self) -> Columns:
        """The columns that are compared."""

    def places(self) -> Places:
        """Where they differ. Raises Unordered unless the keys ascend, each once, or are the same."""

    def replayed_by(self, rows: pa.Table) -> bool:
        """Whether these rows of a change table, whose kinds are a dictionary, ascend and are all by which the blocks differ.

        Compared bit by bit; the blocks have the same types.
        """


Pairing = Callable[[pa.Table, pa.Table, Columns], Pair]
