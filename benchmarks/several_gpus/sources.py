"""Independent work spread over workers, each of which has all of the graph or its index: searches, labelings, queries.

Each worker has equally many tasks, whatever the number of workers. What is answered is proved or compared first.
"""

import shutil
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.several_gpus import ranks
from benchmarks.several_gpus import reachability as grail
from benchmarks.several_gpus.edge_lists import edge_list, on_ranks
from benchmarks.several_gpus.shares import by_name
from benchmarks.several_gpus.table import ShardRow, add
from kernels.reachability import reach_by_search
from pipeline.cluster.protocol import Cluster, TaskContext
from pipeline.cluster.threads import LocalThreads
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.config.stages import ReachabilityConfig
from pipeline.ingest import ingest
from pipeline.steps.index import build_index
from pipeline.steps.layout import lay_out
from pipeline.steps.pairs import BATCH
from pipeline.steps.reach import reach
from pipeline.steps.runtime import Runtime
from pipeline.steps.sources import rows_of_sources
from pipeline.store.facts import GraphFacts, QueryFacts
from pipeline.store.index.arrays import open_index
from pipeline.store.manifest import Folder
from pipeline.store.vertices import open_vertices
from pipeline.tables import files as tables

NEW_YORK = Path(__file__).parents[2] / "data" / "USA-road-d.NY.gr.gz"
PIECE = 32  # searches per task
PROOFS = 4  # per worker; they also load the graph there
FILES = 4  # of answers per worker, for the command `reach`
SAMPLES = 16  # pairs of each such file that a search also answers


@dataclass(frozen=True)
class Job:
    """Tasks whose answers were proved, the same number for each worker; `function` returns a number and seconds.

    `count` is how many searches, labelings or queries all of them are, in words `what`.
    """

    what: str
    count: int
    stored: Folder
    function: Callable[[Folder, TaskContext, Any], tuple[int, float]]
    pieces: Sequence[Any]
    note: str = ""


def run(asked: Any, cluster: Cluster, row: ShardRow) -> None:
    """Run the parts asked for of one graph, and write their rows."""
    graph = _whole(asked)
    row = replace(row, vertices=GraphFacts.of(graph).vertices, arcs=GraphFacts.of(graph).arcs)
    for part in asked.only.split(","):
        begun = time.perf_counter()
        try:
            measured = PARTS[part](asked, cluster, graph, replace(row, what=part))
        except Exception as wrong:
            traceback.print_exc()
            measured = replace(row, what=f"{part}, spread", failure=repr(wrong)[:300])
        add(asked.work, measured)
        said = measured.failure or f"{measured.median:.0f} ms; {measured.note}; check {measured.check:.0f}"
        spent = time.perf_counter() - begun
        print(f"{asked.graph} {measured.what} on {asked.gpus} GPUs: {said}; {spent:.1f} s in all", file=sys.stderr, flush=True)


def _searches(asked: Any, cluster: Cluster, graph: Folder, row: ShardRow) -> ShardRow:
    """Searches of one kernel from many sources."""
    ids, *_ = open_vertices(graph)
    drawn = np.random.default_rng(1).choice(len(ids), min(asked.sources * asked.gpus, len(ids)), replace=True)
    rows = rows_of_sources(graph, ids[drawn].tolist())
    pieces = [(row.what, rows[first : first + PIECE]) for first in range(0, len(rows), PIECE)]
    proofs = [(row.what, rows[number % len(rows)]) for number in range(PROOFS * asked.gpus)]
    _require(results(cluster, partial(ranks.prove_one, graph), proofs))
    return _spread(asked, cluster, Job(f"{row.what} from {len(rows):,} sources", len(rows), graph, ranks.search_all, pieces), row)


def _labels(asked: Any, cluster: Cluster, graph: Folder, row: ShardRow) -> ShardRow:
    """Labelings of the graph in three dimensions, each with its own seed."""
    _require(results(cluster, partial(grail.prove_labels, graph), range(PROOFS * asked.gpus)))
    count = _pieces(asked) * grail.LABELINGS
    pieces = [range(first, first + grail.LABELINGS) for first in range(0, count, grail.LABELINGS)]
    return _spread(asked, cluster, Job(f"{count:,} labelings", count, graph, grail.label_all, pieces, _LABELS), row)


def _queries(asked: Any, cluster: Cluster, graph: Folder, row: ShardRow) -> ShardRow:
    """Batches of random pairs, answered from the placed index; no file is read or written."""
    index = _proved_index(asked, cluster, graph)
    pieces = range(_pieces(asked))
    count = len(pieces) * grail.BATCHES * BATCH
    return _spread(asked, cluster, Job(f"{count:,} queries", count, index, grail.answer_all, pieces, _QUERIES), row)


def _reach(asked: Any, cluster: Cluster, graph: Folder, row: ShardRow) -> ShardRow:
    """The command `reach`: a Parquet file of pairs in, the table of their answers out; afterwards a search checks a sample."""
    index = _proved_index(asked, cluster, graph)
    work, files = asked.work / f"{asked.graph}-whole", FILES * asked.gpus
    ids, pairs, out = open_vertices(graph)[0], work / "pairs.parquet", work / "reached"
    with pq.ParquetWriter(pairs, pa.schema([("src", pa.int64()), ("dst", pa.int64())])) as writer:
        for number in range(files):
            src, dst = (ids[rows] for rows in _rows_of_file(number, len(ids)))
            writer.write_table(pa.table({"src": src, "dst": dst}), BATCH)
    for _ in range(2):  # the first call warms up; its steps would be reused
        shutil.rmtree(out, ignore_errors=True)
        begun = time.perf_counter()
        reached = reach(index, str(pairs), out, runtime=Runtime(out.parent, "gpu", cluster))
        seconds = time.perf_counter() - begun
    answers = [pq.read_table(out / tables.file_name(number))["reachable"].to_numpy() for number in range(files)]
    plain = open_index(index).index
    for number, answer in enumerate(answers):
        src, dst = (rows[:SAMPLES] for rows in _rows_of_file(number, len(ids)))
        if (reach_by_search(plain, src, dst) != answer[:SAMPLES]).any():
            raise AssertionError(f"file {number} of the answers differs from the result of a search")
    count, busy = QueryFacts.of(reached).rows, QueryFacts.of(reached).seconds
    note = f"{count / seconds:,.0f} a second; the kernel {100 * busy / seconds / asked.gpus:.0f} % of it; {_REACH}"
    check = float(sum(int(answer.sum()) for answer in answers[:FILES]))
    return replace(row, what=f"reach, {count:,} queries", median=1000 * seconds, runs=1, note=note, check=check)


PARTS = {"bfs": _searches, "sssp": _searches, "labels": _labels, "queries": _queries, "reach": _reach}
_LABELS = "three dimensions, a seed each; the product builds an index, all dimensions at once, on one GPU"
_QUERIES = f"batches of {BATCH:,} random pairs, drawn in device memory, answers summed there: no files"
_REACH = "pairs from a file, answers into files, both hashed"


def _pieces(asked: Any) -> int:
    """Number of tasks of labelings or queries: half of that of searches."""
    return int(asked.gpus * max(1, asked.sources // (2 * PIECE)))


def _rows_of_file(number: int, vertices: int) -> np.ndarray[Any, Any]:
    """The pairs of rows of one file of answers, [2, 4 million], independent of the worker."""
    return np.random.default_rng([2, number]).integers(0, vertices, (2, tables.ROWS_PER_FILE))


def _proved_index(asked: Any, cluster: Cluster, graph: Folder) -> Folder:
    """The index of the stored graph, proved once; afterwards every worker has it, and samples agree with searches."""
    index = build_index(graph, ReachabilityConfig(), Runtime(asked.work / f"{asked.graph}-whole", "gpu"))
    _require(results(cluster, partial(grail.prove_index, graph), [index]))
    _require(results(cluster, partial(grail.prove_answers, index), range(PROOFS * asked.gpus)))
    return index


def results(cluster: Cluster, function: Callable[[TaskContext, Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
    """What the tasks return, each on a GPU of its own."""
    return (result for (result,) in cluster.map(function, tasks, "gpu"))


def _require(reasons: Any) -> None:
    """Raise AssertionError with the first reason why an answer does not hold."""
    for reason in reasons:
        if reason:
            raise AssertionError(reason)


def _spread(asked: Any, cluster: Cluster, job: Job, row: ShardRow) -> ShardRow:
    """Time all tasks; the check covers one worker's tasks, which are the same for any number of workers."""
    begun = time.perf_counter()
    found = list(results(cluster, partial(job.function, job.stored), job.pieces))
    seconds = time.perf_counter() - begun
    busy = 100 * sum(took for _, took in found) / seconds / asked.gpus
    note = "; ".join(filter(None, [f"{job.count / seconds:,.0f} a second", f"workers busy {busy:.0f} %", job.note]))
    check = float(sum(number for number, _ in found[: len(found) // asked.gpus]))
    return replace(row, what=job.what, median=1000 * seconds, runs=1, note=note, check=check)


def _whole(asked: Any) -> Folder:
    """The stored graph, of one shard."""
    work = asked.work / f"{asked.graph}-whole"
    work.mkdir(exist_ok=True)
    if asked.graph == "new-york":
        return lay_out(ingest(GraphConfig(source=str(NEW_YORK)), work), LayoutConfig(order="windowed"), Runtime(work, "gpu"))
    if asked.graph.startswith("dag-"):
        source = work / "dag.parquet"
        grail.write_dag(*map(int, asked.graph.removeprefix("dag-").split("x")), source)
        return lay_out(
            ingest(GraphConfig(source=str(source), directed=True), work), LayoutConfig(order="source"), Runtime(work, "gpu")
        )
    edges = edge_list(asked, partial(on_ranks, LocalThreads(1), 1))
    return lay_out(edges, LayoutConfig(order=by_name(asked.graph).order), Runtime(work, "gpu"))
