"""The arrays of a block: rows of a sorted table."""

from dataclasses import dataclass
from typing import NamedTuple

from kernels.graph import Array


class Values(NamedTuple):
    """A column.

    Attributes:
        words: The bits of each value as unsigned integers of 1, 2, 4 or 8 bytes, [n]; any number where the value is null.
        valid: A bit for each row, that of a value that is not null being set, from bit `first` of these bytes on; the lowest bit
            of a byte is the first one. uint8, or None if no value is null.
        first: The bit of the first row.
    """

    words: Array
    valid: Array | None = None
    first: int = 0


Columns = tuple[Values, ...]


@dataclass(frozen=True)
class Block:
    """Rows of a table.

    Attributes:
        numbers (int64 [n]): A number for each row, in the order of the keys, and equal in two blocks for equal keys.
        values, keys: The columns; those of two blocks have the same widths.
    """

    numbers: Array
    values: Columns
    keys: Columns
