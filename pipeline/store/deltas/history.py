"""The files of changes that a graph has had since its source was read: in a file of their own, so that no manifest grows.

The file is part of the stored graph after changes, and of the runs that are made from it. It has one JSON list for each file of
changes, in their order: the name without the folder, and what identified the content.
"""

import json
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import Damaged
from pipeline.store.manifest import Folder

HISTORY = "applied.jsonl"


class Applied(NamedTuple):
    """A file of changes."""

    file: str
    digest: str


def history_of(folder: Folder) -> list[Applied]:
    """The files that a stored graph or a run has had; none if it is that of a source. Raises Damaged."""
    if HISTORY not in folder.manifest.files:
        return []
    path = folder.path / HISTORY
    try:
        return parsed(path.read_bytes())
    except (OSError, ValueError, TypeError) as error:
        raise Damaged(f"{path}: {error}") from None


def history_of_state(edges: Folder, graph: Folder) -> list[Applied]:
    """The files that a state has had: its graph, or the edge list of a changed extract, has them. Raises Damaged."""
    return history_of(graph if HISTORY in graph.manifest.files else edges)


def parsed(content: bytes) -> list[Applied]:
    """The entries of such a file. Raises ValueError or TypeError."""
    return [Applied(*json.loads(line)) for line in content.splitlines()]


def write_history(folder: Path, entries: list[Applied]) -> None:
    """Write the file."""
    (folder / HISTORY).write_text("".join(f"{json.dumps(entry)}\n" for entry in entries), encoding="utf-8")
