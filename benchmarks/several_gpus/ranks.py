"""Ranks' functions in the benchmarks on several GPUs: draw, write, lay out, load, prove, time. A rank keeps its shard."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import cupy as cp
import numpy as np

import kernels.bfs
import kernels.sssp
from benchmarks.several_gpus.shares import by_name, folder_of, write_share
from kernels.answers import Certificate
from kernels.bfs.certificate import sharded as bfs_certificate
from kernels.bfs.sharded import bfs
from kernels.distributed import Communicator, Shard, ShardAnswer
from kernels.forest.certificate import sharded as forest_certificate
from kernels.forest.sharded import minimum_spanning_forest
from kernels.graph import OFFSET
from kernels.layout.building import build_csr
from kernels.layout.rules import Edges
from kernels.layout.sharded import shard_of
from kernels.pagerank.certificate import sharded as pagerank_certificate
from kernels.pagerank.sharded import pagerank
from kernels.sssp.certificate import sharded as sssp_certificate
from kernels.sssp.sharded import sssp
from kernels.wcc.certificate import sharded as wcc_certificate
from kernels.wcc.sharded import wcc
from pipeline.cluster.protocol import TaskContext
from pipeline.config.layout import LayoutConfig
from pipeline.steps.layout import lay_out_part, rules_of
from pipeline.store.edges import as_edges
from pipeline.store.edges import read_edges as read_columns
from pipeline.store.manifest import Folder
from pipeline.store.shards import dealing_of, load_shard

ITERATIONS = 20  # of PageRank; the peer runs as many
WARM_UP = 2
_CANDIDATES = 64  # rows considered for each source

_shards: dict[int, Shard] = {}  # of this process's ranks


@dataclass(frozen=True)
class Ready:
    """A graph in shards: seconds of the slowest rank, and the graph's counts."""

    seconds: float
    vertices: int
    arcs: int
    most_arcs: int
    ghosts: int


@dataclass(frozen=True)
class KernelTimes:
    """A kernel's answers to all sources: seconds of the slowest rank, and the other columns of the table."""

    seconds: list[float] = field(default_factory=list)
    arcs: list[int] = field(default_factory=list)
    supersteps: list[int] = field(default_factory=list)
    proofs: list[float] = field(default_factory=list)
    checks: list[float] = field(default_factory=list)
    failure: str = ""


def write_edges(communicator: Communicator, asked: tuple[str, Path]) -> int:
    """Draw the named graph and write this rank's share of its edge list; the number of all edges."""
    name, folder = asked
    written = write_share(by_name(name), folder, communicator.rank, communicator.size)
    return int(communicator.total(np.array([written], OFFSET))[0])


def read_edges(communicator: Communicator, asked: tuple[str, Path, int]) -> Ready:
    """Make the shards of an edge list on the disk."""
    name, folder, edges = asked
    shares = by_name(name)

    def make() -> Shard:
        listed = folder_of(shares, folder, edges)
        source = as_edges(read_columns(listed, "gpu", communicator.rank, communicator.size), "gpu")
        layout = LayoutConfig(order=shares.order)
        return shard_of(lay_out_part(source, rules_of(listed, layout), layout, communicator, deals=True), communicator)

    return _ready(communicator, make)


def draw_edges(communicator: Communicator, name: str) -> Ready:
    """Make the shards of a graph whose edges are drawn in device memory."""
    shares = by_name(name)
    layout = LayoutConfig(order=shares.order)
    edges = Edges(*shares.edges(communicator.rank, communicator.size))
    rules = rules_of(folder_of(shares, Path(), 0), layout)
    window = layout.window if layout.order == "windowed" else 2**62

    def make() -> Shard:
        return shard_of(build_csr(edges, rules, window, communicator, deals=True), communicator)

    return _ready(communicator, make)


def load_shards(communicator: Communicator, graph: Folder) -> Ready:
    """Load the shards of a stored graph."""
    rank, size = communicator.rank, communicator.size
    return _ready(communicator, lambda: load_shard(graph, dealing_of(graph, size), rank, "gpu"))


def sources(communicator: Communicator, count: int) -> tuple[list[int], list[int]]:
    """As `sources_of` this process's shard."""
    return sources_of(_shards[communicator.rank], communicator, count)


def sources_of(shard: Shard, communicator: Communicator, count: int) -> tuple[list[int], list[int]]:
    """Rows with out-arcs, of vertices drawn at random, the same for any number of ranks; and their external ids."""
    places = np.random.default_rng(0).integers(0, shard.num_vertices, _CANDIDATES * count)
    drawn, which = np.unique(places, return_inverse=True)
    here = cp.flatnonzero(cp.isin(shard.positions, cp.asarray(drawn)))
    own = np.searchsorted(drawn, cp.asnumpy(shard.positions[here]))
    columns = np.zeros((3, len(drawn)), OFFSET)
    degrees = shard.out.offsets[here + 1] - shard.out.offsets[here]
    columns[:, own] = cp.asnumpy(cp.stack([degrees, shard.ids[here], shard.rows.start + here]))
    degrees, ids, rows = communicator.total(columns.ravel()).reshape(3, -1)[:, which]
    chosen = np.flatnonzero(degrees)[:count]
    return rows[chosen].tolist(), ids[chosen].tolist()


@dataclass(frozen=True)
class Measurement:
    """A measurement: the kernel, its source rows, the number of runs, and the seconds after which no more sources are proved."""

    kernel: str
    rows: list[int]
    runs: int
    seconds: float


def measure(communicator: Communicator, asked: Measurement) -> KernelTimes:
    """Prove a kernel's answer to each source (one answer where it takes none), then time runs from those that were proved."""
    kernel, shard = KERNELS[asked.kernel], _shards[communicator.rank]
    calls: list[tuple[int, ...]] = [(row,) for row in asked.rows] if kernel.takes_source else [()]
    found, spent = KernelTimes(), 0.0
    for number, call in enumerate(calls):
        if number and spent > asked.seconds:
            calls = calls[:number]
            break
        part, solving = _timed(communicator, partial(kernel.solve, shard, communicator, *call))
        prove = partial(kernel.certify, shard, communicator, part.answer)
        verdict, proving = _timed(communicator, prove)
        if not verdict.holds:
            return KernelTimes(failure=f"{call}: {verdict.reason}")
        if not number:  # the first proof includes compilation
            _, proving = _timed(communicator, prove)
        spent += solving + proving
        arcs, check = kernel.count(shard, communicator, part)
        found.proofs.append(proving)
        found.supersteps.append(part.supersteps)
        found.arcs.append(arcs)
        found.checks.append(check)
        del part
    timed = (calls * asked.runs)[: max(asked.runs, len(calls))]
    for call in timed[:WARM_UP]:
        kernel.run(shard, communicator, *call)
    for call in timed:
        found.seconds.append(_timed(communicator, partial(kernel.run, shard, communicator, *call))[1])
    return found


def prove_one(folder: Folder, context: TaskContext, asked: tuple[str, int]) -> str:
    """Prove one of many answers on a worker that has the whole graph; return the reason if it does not hold, or ""."""
    solve, certify = SINGLE_RANK[asked[0]]
    graph = context.whole_graph(folder).graph
    return certify(graph, solve(graph, asked[1])).reason


def search_all(folder: Folder, context: TaskContext, asked: tuple[str, list[int]]) -> tuple[int, float]:
    """Answer a task of many sources on a worker that has the whole graph: sum of the distances, and seconds."""
    solve, _ = SINGLE_RANK[asked[0]]
    graph = context.whole_graph(folder).graph
    started, total = time.perf_counter(), cp.zeros((), OFFSET)
    for row in asked[1]:
        distance = solve(graph, row).distance
        total += cp.where(distance > 0, distance, 0).sum()
    return int(total), time.perf_counter() - started


SINGLE_RANK: dict[str, tuple[Callable[..., Any], Callable[..., Certificate]]] = {
    "bfs": (kernels.bfs.bfs, kernels.bfs.certificate.certify_bfs),
    "sssp": (kernels.sssp.sssp, kernels.sssp.certificate.certify_sssp),
}


@dataclass(frozen=True)
class ShardedKernel:
    """A kernel over shards."""

    takes_source: bool
    solve: Callable[..., ShardAnswer[Any]]  # whose answer is proved
    certify: Callable[..., Certificate]
    # Arcs of the rows reached, and the number that a peer has to agree on.
    count: Callable[[Shard, Communicator, ShardAnswer[Any]], tuple[int, float]]
    run: Callable[..., ShardAnswer[Any]]  # what is timed


def _total(communicator: Communicator, *values: Any) -> list[int]:
    """Sums of integers over the ranks."""
    return communicator.total(np.array([int(value) for value in values], OFFSET)).tolist()  # type: ignore[no-any-return]


def _of_paths(shard: Shard, communicator: Communicator, part: ShardAnswer[Any]) -> tuple[int, float]:
    reached = part.answer.distance >= 0
    degrees = cp.diff(shard.out.offsets)
    arcs, total = _total(communicator, degrees[reached].sum(), part.answer.distance[reached].sum())
    return arcs, float(total)


def _of_components(shard: Shard, communicator: Communicator, part: ShardAnswer[Any]) -> tuple[int, float]:
    own = cp.arange(shard.rows.start, shard.rows.stop, dtype=part.answer.labels.dtype)
    arcs, components = _total(communicator, shard.out.offsets[-1], (part.answer.labels == own).sum())
    return arcs, float(components)


def _of_forest(shard: Shard, communicator: Communicator, part: ShardAnswer[Any]) -> tuple[int, float]:
    arcs, weight = _total(communicator, shard.out.offsets[-1], part.answer.weights.sum(dtype=OFFSET))
    return arcs, float(weight)


def _of_ranks(shard: Shard, communicator: Communicator, part: ShardAnswer[Any]) -> tuple[int, float]:
    (arcs,) = _total(communicator, shard.out.offsets[-1])
    squares = communicator.total(np.array([float((part.answer.scores**2).sum())]))
    return arcs * ITERATIONS, float(squares[0])


def _iterate(shard: Shard, communicator: Communicator) -> ShardAnswer[Any]:
    return pagerank(shard, communicator, iterations=ITERATIONS)


KERNELS = {
    "bfs": ShardedKernel(True, bfs, bfs_certificate.certify_bfs, _of_paths, bfs),
    "sssp": ShardedKernel(True, sssp, sssp_certificate.certify_sssp, _of_paths, sssp),
    "wcc": ShardedKernel(False, wcc, wcc_certificate.certify_wcc, _of_components, wcc),
    "pagerank": ShardedKernel(False, pagerank, pagerank_certificate.certify_pagerank, _of_ranks, _iterate),
    "forest": ShardedKernel(
        False, minimum_spanning_forest, forest_certificate.certify_forest, _of_forest, minimum_spanning_forest
    ),
}


def _ready(communicator: Communicator, make: Callable[[], Shard]) -> Ready:
    _shards.pop(communicator.rank, None)
    cp.get_default_memory_pool().free_all_blocks()
    shard, seconds = _timed(communicator, make)
    _shards[communicator.rank] = shard
    cp.get_default_memory_pool().free_all_blocks()
    arcs = int(shard.out.offsets[-1])
    most, ghosts = communicator.most(np.array([arcs, shard.num_ghosts], OFFSET)).tolist()
    return Ready(seconds, shard.num_vertices, _total(communicator, arcs)[0], most, ghosts)


def _timed(communicator: Communicator, work: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of `work` and the seconds of the slowest rank, measured from a barrier."""
    cp.cuda.Device().synchronize()
    communicator.total(np.zeros(1, OFFSET))
    started = time.perf_counter()
    result = work()
    cp.cuda.Device().synchronize()
    taken = np.array([int(1e9 * (time.perf_counter() - started))], OFFSET)
    return result, int(communicator.most(taken)[0]) / 1e9
