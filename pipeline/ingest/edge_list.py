"""What every format module returns: a source file as an edge list that is still being read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class EdgeList:
    """An edge list whose rows are read as they are asked for.

    Attributes
    ----------
    tables : iterator of pyarrow.Table
        `src`, `dst` int64, and `weight` unless `weight` is None; in the source's order. Raises BadInput.
    weight : pyarrow.DataType or None
    directed : bool
        What the file or the format says of itself.
    first_id, declared_vertices : int or None
        Where the file declares its vertices: they are `first_id..first_id + declared_vertices - 1`.
    """

    tables: Iterator[pa.Table]
    weight: pa.DataType | None
    directed: bool = True
    first_id: int | None = None
    declared_vertices: int | None = None
