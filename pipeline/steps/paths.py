"""Witness paths: for each pair that was answered with yes, the path that shows it, checked against the stored graph."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernels.gpu.loader import to_host
from kernels.graph import Graph
from kernels.reachability.paths import first_wrong_path, memory_of_paths, shortest_paths
from pipeline import progress
from pipeline.cluster.open_graphs import require_visible
from pipeline.cluster.protocol import TaskContext
from pipeline.errors import BadConfig, ProofFailed, TooLarge
from pipeline.runtime.backend import Clock, bring
from pipeline.runtime.memory import require_memory
from pipeline.steps.derived.names import as_named, naming
from pipeline.steps.pairs import BATCH
from pipeline.steps.runtime import Runtime
from pipeline.store import manifest
from pipeline.store.code import HELD_GRAPH, Code
from pipeline.store.deltas import GRAPHS
from pipeline.store.facts import GraphFacts, PathFacts
from pipeline.store.manifest import Folder, make
from pipeline.store.scratch import attempts_beside, new_attempt
from pipeline.tables import files as tables
from pipeline.tables.row_lookup import finder

STEP = "paths"  # and the table
MOST_VERTICES = 2**31  # of all paths of a table
GROUP_VERTICES = 2**22  # a row group ends with the path that reaches this number of vertices, or with ROWS_PER_GROUP paths


def find_paths(graph: Folder, reached: Folder, out: Path, runtime: Runtime) -> Folder:
    """Find the path of each pair of table `reached` that has one, and check its arcs.

    Args:
        graph: The stored graph that the index was made from.
        reached: From `pipeline.steps.reach.reach`.
        out: The folder to write, or to keep if it has these very paths.
        runtime: Where paths are searched for; each file of `reached` is a task, and the file of its paths has the same name.
            Every worker opens the whole graph; where ranks hold it in shards, on its CPUs. The table is the same.

    Returns:
        Table `paths`. Facts: `PathFacts`.

    Raises:
        ProofFailed: A pair that was answered with yes has no path, or a step of its path is not an arc.
        TooLarge: The paths have more than MOST_VERTICES vertices, or the searches may take more memory than is free.
        BadConfig: Another run has replaced the stored graph.
        ClusterLost: As `cluster.map`.
    """
    backend = "cpu" if runtime.ranks_of(graph) else runtime.backend

    def write(folder: Path) -> dict[str, Any]:
        files, counts = tables.files(reached.path), _PathCounts()
        firsts = accumulate((pq.read_metadata(file).num_rows for file in files), initial=0)
        task = partial(_write_file, graph, attempts_beside(folder))
        written = runtime.cluster.map(task, [*zip(files, firsts, strict=False)], backend, one_at_a_time=True)
        for number, ((file, of_file),) in enumerate(progress.counted(written, [1] * len(files), "files")):
            file.rename(folder / tables.file_name(number))
            counts.add(of_file)
        if manifest.read(graph.path).digest != graph.digest:
            raise BadConfig(f"{graph.path}: another run has replaced the stored graph; start again")
        return PathFacts(**vars(counts), backend=backend).stored()

    inputs, code = {"graph": graph.digest, "reached": reached.digest}, Code((__name__, *HELD_GRAPH))
    return make(out, STEP, inputs, as_named(runtime), naming(runtime, STEP, write), code)


def graph_of_index(index: Folder) -> Folder:
    """The stored graph that an index was made from, in the output folder of its run; all its files are checked.

    Raises:
        BadConfig: It is no longer there.
        Damaged: A file differs from the manifest.
    """
    steps = [index.path.parent, *(above / "steps" for above in index.path.parents[2:3])]
    if graph := manifest.find((folder / name for folder in steps for name in GRAPHS), index.manifest.inputs["graph"]):
        return graph
    raise BadConfig(
        f"{index.path}: paths need the stored graph that this index was made from, in `steps/graph` of the run's output folder; "
        "it is not there, or a later run has replaced it: run stage reachability again"
    )


@dataclass
class _PathCounts:
    """Numbers of paths and of their vertices, arcs of the longest one, and seconds of the kernel, with its checks."""

    paths: int = 0
    vertices: int = 0
    longest: int = 0
    seconds: float = 0.0

    def add(self, other: "_PathCounts") -> None:
        """Add those of other paths. Raises TooLarge."""
        self.paths += other.paths
        self.vertices += other.vertices
        self.longest = max(self.longest, other.longest)
        self.seconds = round(self.seconds + other.seconds, 6)
        if self.vertices > MOST_VERTICES:
            raise TooLarge(
                f"paths: the first {self.paths:,} paths have {self.vertices:,} vertices, and {MOST_VERTICES:,} is the limit of a "
                "table; ask about fewer pairs"
            )


def _write_file(graph: Folder, attempts: Path, context: TaskContext, task: tuple[Path, int]) -> tuple[Path, _PathCounts]:
    """Write the paths of a file of `reached`, whose first row is that of query `task[1]`."""
    file, first = task
    require_visible(file)
    vertices, needed = GraphFacts.of(graph).vertices, memory_of_paths(GraphFacts.of(graph).vertices, gpu=context.backend == "gpu")
    require_memory(f"paths: searching in a graph of {vertices:,} vertices", needed, context.backend)
    counts, attempt, clock = _PathCounts(), new_attempt(attempts), Clock(context.backend)
    opened = context.open_graphs.graph(graph, context.backend)
    tables.write_file(attempt, STEP, None, _row_groups(_paths(opened, file, first, clock, counts)))
    counts.seconds = clock.seconds
    return attempt, counts


def _paths(graph: Graph, file: Path, first: int, clock: Clock, counts: _PathCounts) -> Iterator[pa.RecordBatch]:
    """The paths of a file of `reached` in its order; counts them. Raises ProofFailed and TooLarge."""
    find = finder(graph)
    with pq.ParquetFile(file, page_checksum_verification=True) as reached:
        for batch in reached.iter_batches(BATCH):
            yes = np.flatnonzero(batch["reachable"].fill_null(False).to_numpy(zero_copy_only=False))
            queries, ends = yes + first, [batch[name].to_numpy()[yes] for name in ("src", "dst")]
            from_rows, to_rows = (find(bring(column, clock.backend)) for column in ends)
            searched, begin = shortest_paths(graph, from_rows, to_rows), 0
            while (paths := clock.timed()(next)(searched, None)) is not None:
                part = slice(begin, begin := begin + len(paths.lengths))
                if (wrong := clock.timed()(first_wrong_path)(graph, from_rows[part], to_rows[part], paths)) >= 0:
                    src, dst = (int(column[part][wrong]) for column in ends)
                    raise ProofFailed(f"paths: {src} was found to reach {dst}, but no path of stored arcs shows it")
                lengths, begins = to_host(paths.lengths) - 1, to_host(paths.begins)
                counts.add(_PathCounts(len(lengths), int(begins[-1]), int(lengths.max())))
                listed = pa.ListArray.from_arrays(begins.astype(np.int32), to_host(graph.ids[paths.nodes]), type=_LIST)
                columns = [queries[part], *(column[part] for column in ends), lengths, listed]
                yield pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=tables.schema(STEP, None))
            first += len(batch)


_LIST = tables.schema(STEP, None).field("path").type


def _row_groups(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in batches that depend on the rows only."""
    waiting: list[pa.RecordBatch] = []
    rows = vertices = 0
    for batch in batches:
        sizes, done = np.cumsum(batch["length"].to_numpy() + 1), 0
        while done < len(batch):
            before = int(sizes[done - 1]) if done else 0
            full = int(np.searchsorted(sizes, GROUP_VERTICES - vertices + before)) + 1
            end = min(full, done + tables.ROWS_PER_GROUP - rows, len(batch))
            waiting.append(batch[done:end])
            rows, vertices, done = rows + end - done, vertices + int(sizes[end - 1]) - before, end
            if rows == tables.ROWS_PER_GROUP or vertices >= GROUP_VERTICES:
                yield pa.concat_batches(waiting)
                waiting, rows, vertices = [], 0, 0
    if waiting:
        yield pa.concat_batches(waiting)
