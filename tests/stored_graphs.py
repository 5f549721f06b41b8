"""The whole check of a stored graph, which a run does not need: its layout is tested, and its files have hashes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kernels.layout.sorting import is_transpose
from pipeline.errors import Damaged
from pipeline.store.graph import open_graph
from pipeline.store.manifest import Folder
from pipeline.store.vertices import VERTICES, open_vertices


def validate(folder: Folder) -> None:
    """Check the whole stored graph: ids, order, both directions against each other, and degrees.

    Raises:
        Damaged: The first broken rule.
    """
    graph = open_graph(folder)
    _or_damaged(folder.path, graph.validate)
    if not is_transpose(graph.out, graph.into, graph.rows_by_id):
        raise Damaged(f"{folder.path}: the in-arcs are not the transposed out-arcs")
    for degrees, csr in zip(open_vertices(folder)[2:], (graph.out, graph.into), strict=True):
        if not np.array_equal(degrees, np.diff(csr.offsets)):
            raise Damaged(f"{folder.path / VERTICES}: a degree differs from its row's arcs")


def _or_damaged(path: Path, check: Callable[..., None], *arguments: Any) -> None:
    try:
        check(*arguments)
    except ValueError as error:
        raise Damaged(f"{path}: {error}") from None
