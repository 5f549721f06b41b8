"""Workers' functions for the GRAIL benchmark on several GPUs: labelings of a graph, batches of queries, and their proofs."""

import time
from pathlib import Path

import cupy as cp
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.generators import layered_edges
from kernels.answers import ReachabilityIndex
from kernels.graph import OFFSET, Array
from kernels.reachability import condense, label, reach, reach_by_search
from kernels.reachability.certificate import certify_reachability
from pipeline.cluster.protocol import TaskContext
from pipeline.steps.pairs import BATCH
from pipeline.store.index.arrays import StoredIndex, open_index
from pipeline.store.manifest import Folder

LABELINGS = 16  # per task
BATCHES = 64  # per task
SAMPLES = 8  # pairs of each kind of decision that a search also answers


def write_dag(layers: int, width: int, path: Path) -> None:
    """Write a layered random DAG, the same on every machine: four arcs per vertex to random vertices of the next layer.

    Ids are a random permutation; ids of the last layer without in-arcs do not occur.
    """
    src, dst = layered_edges(layers, width, np.random.default_rng(1))
    pq.write_table(pa.table({"src": src, "dst": dst}), path)


def prove_labels(folder: Folder, context: TaskContext, seed: int) -> str:
    """Prove a labeling of the placed graph: return the reason if it does not hold, otherwise an empty string."""
    graph = context.whole_graph(folder).graph
    nodes = condense(graph)
    return certify_reachability(graph, ReachabilityIndex(nodes, label(nodes, seed=seed))).reason


def label_all(folder: Folder, context: TaskContext, seeds: range) -> tuple[int, float]:
    """Condense the graph once, and label it from each seed: sum of the intervals' lower ends, and seconds."""
    graph = context.whole_graph(folder).graph
    begun, total = time.perf_counter(), cp.zeros((), OFFSET)
    nodes = condense(graph)
    for seed in seeds:
        total += label(nodes, seed=seed).low.sum(dtype=OFFSET)
    return int(total), time.perf_counter() - begun


def prove_index(graph: Folder, context: TaskContext, index: Folder) -> str:
    """Prove a stored index of the graph: why it does not hold, or nothing."""
    return certify_reachability(context.whole_graph(graph).graph, open_index(index, context.backend).index).reason


def prove_answers(folder: Folder, context: TaskContext, seed: int) -> str:
    """Answer a batch from the index, and some of it by a search without labels: what differs, or nothing."""
    stored = context.index(folder)
    src, dst = _pairs(stored, cp.random.default_rng(seed))
    found = reach(stored.index, src, dst)
    ways = [cp.flatnonzero(found.decided == way)[:SAMPLES] for way in range(4)]
    sample = cp.concatenate(ways)
    ends = cp.asnumpy(src[sample]), cp.asnumpy(dst[sample])
    searched = reach_by_search(open_index(folder).index, *ends)
    wrong = np.flatnonzero(searched != cp.asnumpy(found.reachable[sample]))
    return "".join(f"whether row {ends[0][at]} reaches {ends[1][at]} differs from the result of a search" for at in wrong[:1])


def answer_all(folder: Folder, context: TaskContext, seed: int) -> tuple[int, float]:
    """Answer batches of random pairs of the index's rows: how many are reachable, and seconds."""
    stored = context.index(folder)
    begun, total = time.perf_counter(), cp.zeros((), OFFSET)
    random = cp.random.default_rng(seed)
    for _ in range(BATCHES):
        total += reach(stored.index, *_pairs(stored, random)).reachable.sum(dtype=OFFSET)
    return int(total), time.perf_counter() - begun


def _pairs(stored: StoredIndex, random: cp.random.Generator) -> tuple[Array, Array]:
    """A batch of pairs of rows, as large as those of the command `reach`, drawn in device memory."""
    src, dst = random.integers(0, stored.num_vertices, (2, BATCH)).astype(stored.index.condensation.node.dtype)
    return src, dst
