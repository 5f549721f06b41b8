"""The other uses of a Parquet file, as pairs, changes, nodes and coordinates, each compared with the second reader."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pipeline.changes.reading import read_changes
from pipeline.changes.rows import OPERATIONS
from pipeline.config.graph import GraphConfig, Limits, NodeColumns
from pipeline.errors import BadInput
from pipeline.ingest.coordinates import coordinates_of
from pipeline.ingest.nodes import read_nodes
from pipeline.ingest.source import locate, stored
from pipeline.steps.pairs import batches, blocks
from pipeline.store.names import VertexNames
from tests.ingest.fuzz import oracle

Rows = list[tuple[Any, ...]]


def fault(path: Path, content: bytes, seed: bytes) -> str | None:
    """How one of the uses differs from what the second reader finds; None if none does. Raises what is not BadInput."""
    for use, (columns, read) in _USES.items():
        try:
            found = read(path)
        except BadInput as error:
            if error.file != str(path):
                return f"as {use} refused without its name"
            continue
        try:
            expected = oracle.selected(path, content, seed, columns)
        except oracle.Unread:
            continue
        except oracle.Refused as reason:
            return f"as {use} wrongly accepted: {reason}"
        if use in ("nodes", "coordinates"):
            expected = sorted(row for row in expected if None not in row)
        if found != expected:
            return f"as {use} accepted, but wrong: {str(found)[:200]} instead of {str(expected)[:200]}"
    return None


def pairs(path: Path, names: VertexNames | None) -> Rows | None:
    """The rows of a file as `graphmill reach` reads them; None if it is refused."""
    try:
        with patch("pipeline.steps.pairs.names_beside", lambda _index: names):
            found = [batch for block in blocks(path, str(path), 100) for batch in batches(path, str(path), block, "the index")]
    except BadInput:
        return None
    return [row for batch in found for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)]


def _changes(named: bool) -> Callable[[Path], Rows]:
    def read(path: Path) -> Rows:
        listed = read_changes(locate(str(path)), None, GraphConfig(source="edges.csv"), None, named)
        ops = [OPERATIONS[number] for number in listed.ops]
        return list(zip(ops, listed.src.to_pylist(), listed.dst.to_pylist(), strict=True))

    return read


def _nodes(path: Path) -> Rows:
    with stored(locate(str(path))) as content:
        return [(number,) for number in read_nodes(content, Limits(), None, NodeColumns())[0]["vertex"].to_pylist()]


def _coordinates(path: Path) -> Rows:
    with stored(locate(str(path))) as content:
        return list(
            zip(*(column.to_pylist() for column in coordinates_of(content, GraphConfig(source="g"), None)[0]), strict=True)
        )


_USES: dict[str, tuple[list[str], Callable[[Path], Rows]]] = {
    "changes of integers": (["op", "src", "dst"], _changes(False)),
    "changes of texts": (["op", "src", "dst"], _changes(True)),
    "nodes": (["vertex"], _nodes),
    "coordinates": (["vertex", "x", "y"], _coordinates),
}
