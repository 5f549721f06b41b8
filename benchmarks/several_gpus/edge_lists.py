"""Functions on all ranks of a graph, and its edge list, which the benchmarks of shards, of sources and of cuGraph read."""

import json
import shutil
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.several_gpus import ranks
from benchmarks.several_gpus.shares import by_name, folder_of
from pipeline.cluster.protocol import Cluster, TaskContext
from pipeline.store.manifest import Folder


def edges_of(asked: Any) -> tuple[Path, Path]:
    """The folder of a graph's edge list, and the file that says how many edges it has, once it is complete."""
    folder = asked.work / asked.graph
    return folder, folder / "edges.json"


def on_ranks(cluster: Cluster, size: int, function: Callable[..., Any], item: Any) -> Any:
    """What `function(communicator, item)` returns on the first of `size` ranks."""
    ((first, *_),) = cluster.map(partial(_call, function), [item], "gpu", size)
    return first


def _call(function: Callable[..., Any], context: TaskContext, item: Any) -> Any:
    return function(context.communicator, item)


def edge_list(asked: Any, together: Callable[..., Any]) -> Folder:
    """The edge list of the graph, written if it is not there."""
    folder, note = edges_of(asked)
    if not note.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        begun = time.perf_counter()
        count = together(ranks.write_edges, (asked.graph, folder))
        note.write_text(json.dumps(count), encoding="utf-8")
        size = sum(path.stat().st_size for path in folder.glob("part-*"))
        log(f"{count:,} edges, {size / 1e9:.1f} GB, written in {time.perf_counter() - begun:.1f} s")
    return folder_of(by_name(asked.graph), folder, json.loads(note.read_text(encoding="utf-8")))


def log(line: str) -> None:
    """Write a line to the standard error stream at once."""
    print(line, file=sys.stderr, flush=True)
