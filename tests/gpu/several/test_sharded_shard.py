"""Shards on a GPU, and values derived from them, equal the CPU's, with the arcs in the device's and in the host's memory."""

# ruff: noqa: E402  (the imports below need CuPy)
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from benchmarks.graphs import facebook, new_york, wiki_vote
from kernels.arrays import is_cupy_array
from kernels.components.sharded.naming import smallest_ids
from kernels.cpu.parallel import inverse
from kernels.distributed import Communicator, Halo, Owners, Shard, local_graph
from kernels.distributed.assembly import assemble, to_device
from kernels.distributed.communicator import OverExchange
from kernels.distributed.dealing import Dealing
from kernels.distributed.gpu import memory
from kernels.distributed.gpu.bits import HaloBits
from kernels.distributed.shard import StoredRows
from kernels.distributed.threads import run_ranks
from kernels.gpu.loader import to_host
from kernels.gpu.transfer import to_device as graph_to_device
from kernels.graph import Array, Csr, Graph
from kernels.layout.laid_out import take_rows
from kernels.layout.orders import by_degree_in_windows
from tests.gpu.inputs import poison, random_edges, shuffled, with_wide_rows
from tests.graphs import NAMED_GRAPHS, EdgeList
from tests.sharded.ranks import DEADLINE, SIZES, bounds_of, dealing_of, dealt
from tests.sharded.shards import even_bounds, split

PLACES = ("device", "host")


def require_same(found: Array | None, expected: Array | None) -> None:
    assert (found is None) == (expected is None)
    if expected is not None:
        assert is_cupy_array(found)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.get(), expected)


def require_same_arcs(found: Csr, expected: Csr) -> None:
    for name in ("offsets", "indices", "weights"):
        require_same(getattr(found, name), getattr(expected, name))


def require_same_shard(found: Shard, expected: Shard) -> None:
    assert (found.rank, found.rows, found.symmetric) == (expected.rank, expected.rows, expected.symmetric)
    for name in ("bounds", "ghost_bounds"):
        assert isinstance(getattr(found, name), np.ndarray)
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    for name in ("ids", "positions", "ghosts", "ghost_positions", "local_rows"):
        require_same(getattr(found, name), getattr(expected, name))
    for name in ("out", "into"):
        require_same_arcs(getattr(found, name), getattr(expected, name))
    for name in ("local_out", "local_into"):
        require_same_arcs(getattr(found, name), expected.with_ghosts(getattr(expected, name)))
    for row in {0, found.rows.start, found.rows.stop}:
        require_same(found.own_numbers(row), expected.own_numbers(row))


def check(graph: Graph, bounds: Array) -> None:
    """Check every way to make a shard on the GPU, and the shard as a graph."""
    on_device = split(graph_to_device(graph), bounds)
    for shard, of_device_graph in zip(split(graph, bounds), on_device, strict=True):
        require_same_shard(of_device_graph, shard)
        out = [shard.out]
        into = out if shard.symmetric else [shard.into]
        given = shard.rank, Dealing.contiguous(bounds), StoredRows(shard.ids, graph.rows_by_id, out, into, graph.directed)
        for place in PLACES:
            poison(1 << 20)
            for found in (to_device(shard, place), assemble(*given, gpu=place)):
                require_same_shard(found, shard)
        here, there = local_graph(shard), local_graph(found)
        assert there.symmetric == here.symmetric
        require_same_arcs(there.out, here.out)
        require_same_arcs(there.into, here.into)
        require_same(there.ids, here.ids)
        require_same(there.rows_by_id, here.rows_by_id)


@pytest.mark.parametrize("edges", NAMED_GRAPHS, ids=lambda edges: edges.name)
def test_named_graphs(edges: EdgeList) -> None:
    graph = shuffled(edges)
    for size in SIZES:
        check(graph, even_bounds(graph, size))
    np.testing.assert_array_equal(even_bounds(graph_to_device(graph), 3), even_bounds(graph, 3))


@pytest.mark.parametrize("make", [new_york, facebook, wiki_vote])
def test_real_graphs(make) -> None:  # type: ignore[no-untyped-def]
    graph = make()
    check(graph, even_bounds(graph, 3))
    check(graph, bounds_of([5, 5, 999], graph.num_vertices))


@pytest.mark.parametrize("directed", [False, True])
def test_wide_rows_and_hubs(directed: bool) -> None:
    graph = shuffled(random_edges(3, 3000, 40_000, directed, 3))
    check(with_wide_rows(graph), even_bounds(graph, 4))
    check(graph, even_bounds(graph, 7))


@pytest.mark.parametrize("staged", [1, 1 << 26])
@pytest.mark.parametrize("directed", [False, True])
def test_dealt_rows(directed: bool, staged: int, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(memory, "_STAGED", staged)
    stored = by_degrees(shuffled(random_edges(3, 3000, 40_000, directed, 3)))
    for size in SIZES[1:]:
        dealing = dealing_of(stored, size)
        assert not dealing.keeps
        for shard in split(dealt(stored, dealing), dealing.bounds):
            pieces = dealing.blocks(shard.rank)
            out = [rows_of(stored.out, rows) for rows in pieces]
            into = out if stored.symmetric else [rows_of(stored.into, rows) for rows in pieces]
            for place in PLACES:
                rows = StoredRows(shard.ids, stored.rows_by_id, out, into, stored.directed)
                found = assemble(shard.rank, dealing, rows, gpu=place)
                require_same_shard(found, shard)


def by_degrees(graph: Graph) -> Graph:
    order = by_degree_in_windows(np.diff(graph.out.offsets), 2**62)
    out = take_rows(graph.out, order, inverse(order))
    into = out if graph.symmetric else take_rows(graph.into, order, inverse(order))
    return Graph(graph.ids[order], inverse(order)[graph.rows_by_id], out, into, graph.directed)


def rows_of(csr: Csr, rows: range) -> Csr:
    begin, end = csr.offsets[[rows.start, rows.stop]]
    weights = None if csr.weights is None else csr.weights[begin:end]
    return Csr(csr.offsets[rows.start : rows.stop + 1] - begin, csr.indices[begin:end], weights)


def test_arcs_to_rows_of_the_whole_graph_get_local_rows() -> None:
    graph = shuffled(random_edges(4, 300, 2000, True))
    bounds = even_bounds(graph, 3)
    for shard, found in zip(split(graph, bounds), split(graph_to_device(graph), bounds), strict=True):
        by_rows = replace(found, out=Csr(found.out.offsets, found.out.indices, None))
        require_same(by_rows.local_out.indices, shard.local_out.indices)


def test_making_a_shard_takes_little_more_memory_than_its_arcs() -> None:
    """The pool's peak: the arcs once, an offset per local row, and little else."""
    num_own, degree = 1 << 16, 64
    random_ends = np.random.default_rng(8).integers(4 * num_own, size=num_own * degree, dtype=np.int32)
    arcs = Csr(np.arange(num_own + 1, dtype=np.int64) * degree, random_ends, None)
    bounds, rows = np.array([0, num_own, 4 * num_own]), np.arange(4 * num_own, dtype=np.int32)
    pool = cupy.cuda.MemoryPool()
    with cupy.cuda.using_allocator(pool.malloc):
        parts = [arcs]
        dealing = Dealing.contiguous(bounds)
        shard = assemble(0, dealing, StoredRows(rows[:num_own].astype(np.int64), rows, parts, parts, False), gpu="device")
        peak, kept = pool.total_bytes(), arcs.indices.nbytes + shard.local_out.offsets.nbytes
        assert peak < 1.5 * kept
        del shard


def on_both(size: int, work: Callable[[Communicator, Callable[[Array], Array]], Sequence[Array]]) -> None:
    """Compare `work` on NumPy and on CuPy arrays, which its second argument makes."""
    expected, found = (run_ranks(size, lambda ranks, here=here: work(ranks, here), DEADLINE) for here in (np.array, cupy.array))
    for one, other in zip(found, expected, strict=True):
        for array, same in zip(one, other, strict=True):
            require_same(array, same)


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int32, np.int64, np.uint64, np.float32, np.float64])
@pytest.mark.parametrize("size", SIZES)
def test_ghosts_get_their_owners_values_and_owners_the_minimum_of_ghosts(size: int, dtype: type) -> None:
    graph = shuffled(random_edges(5, 400, 1500, True))
    shards = split(graph, even_bounds(graph, size))
    chance = np.random.default_rng(6)
    values = chance.integers(1000, size=graph.num_vertices).astype(dtype)
    proposals = [chance.integers(1000, size=shard.num_ghosts).astype(dtype) for shard in shards]
    sent = [np.flatnonzero(chance.random(shard.num_ghosts) < 0.6) for shard in shards]

    def swap(ranks: Communicator, here: Callable[[Array], Array]) -> Sequence[Array]:
        shard = shards[ranks.rank] if here is np.array else to_device(shards[ranks.rank])
        halo, own = Halo(shard, ranks), here(values[shard.rows.start : shard.rows.stop])
        found = [halo.refresh(own), Halo(shard, ranks).extended(own), *halo.mirrored]
        if np.dtype(dtype).itemsize >= 4:
            lowered = np.concatenate([own, here(proposals[shard.rank])])
            found += [halo.lower(lowered, here(sent[shard.rank])), lowered]
        return found

    on_both(size, swap)


@pytest.mark.parametrize("size", SIZES)
def test_bits_of_ghosts_and_owners_and_sums_over_ranks(size: int) -> None:
    """Twice, because earlier messages must not change later ones."""
    graph = shuffled(random_edges(5, 400, 1500, True))
    shards = split(graph, even_bounds(graph, size))
    chance = np.random.default_rng(7)
    numbers = chance.integers(1 << 60, size=(2, size, 2), dtype=np.uint64)
    chosen = chance.random((2, graph.num_vertices)) < 0.5
    sent = [chance.random((2, shard.num_ghosts)) < 0.3 for shard in shards]

    def swap(ranks: Communicator) -> None:
        shard = shards[ranks.rank]
        bits, num_local = HaloBits(Halo(to_device(shard), ranks)), len(shard.local_rows)

        def bitmap(known: Array) -> Array:
            marks, packed = bits.empty(), np.packbits(known, bitorder="little")
            marks.view(np.uint8)[: len(packed)] = cupy.asarray(packed)
            return marks

        for turn in range(2):
            marks, sums = bitmap(chosen[turn, shard.local_rows[: len(shard.ids)]]), cupy.asarray(numbers[turn, ranks.rank])
            assert bits.refresh(marks, sums) == numbers[turn].sum(axis=0).tolist()
            known = np.unpackbits(to_host(marks.view(np.uint8)), bitorder="little").view(bool)
            np.testing.assert_array_equal(known[:num_local], chosen[turn, shard.local_rows])
            assert not known[num_local:].any()
            np.testing.assert_array_equal(to_host(sums), numbers[turn].sum(axis=0))
            marks = bitmap(np.concatenate([np.zeros(len(shard.ids), bool), sent[ranks.rank][turn]]))
            bits.mark_owners(marks)
            by_any = np.zeros(graph.num_vertices, bool)
            for other, of_other in zip(shards, sent, strict=True):
                by_any[other.ghosts[of_other[turn]]] = True
            known = np.unpackbits(to_host(marks.view(np.uint8)), bitorder="little").view(bool)
            np.testing.assert_array_equal(known[: len(shard.ids)], by_any[shard.rows.start : shard.rows.stop])

    run_ranks(size, swap, DEADLINE)


@pytest.mark.parametrize("size", SIZES)
def test_undefined_messages_change_only_bits_of_list_entries(size: int) -> None:
    """Kernels launched after an exchange that failed run on undefined buffer contents."""
    graph = shuffled(random_edges(5, 400, 1500, True))
    shards = split(graph, even_bounds(graph, size))

    def swap(ranks: Communicator) -> None:
        halo = Halo(to_device(shards[ranks.rank]), ranks)
        num_own, num_local = len(shards[ranks.rank].ids), len(shards[ranks.rank].local_rows)
        halo.communicator = Lost(ranks)
        bits = HaloBits(halo)
        for exchange, changed in ((bits.refresh, np.arange(num_own, num_local)), (bits.mark_owners, to_host(halo.all_mirrored))):
            marks = bits.empty()
            exchange(marks)
            known = np.flatnonzero(np.unpackbits(to_host(marks.view(np.uint8)), bitorder="little"))
            np.testing.assert_array_equal(known, np.unique(changed))

    run_ranks(size, swap, DEADLINE)


class Lost(OverExchange):
    """A communicator whose peers are lost: every received buffer holds ones."""

    def __init__(self, ranks: Communicator):
        self.rank, self.size = ranks.rank, ranks.size

    def exchange(self, parts: Sequence[Array], buffers: Sequence[Array] | None = None) -> list[Array]:
        for buffer in buffers or ():
            buffer.fill(0xFFFFFFFF)
        return list(buffers or ())


@pytest.mark.parametrize("size", SIZES)
def test_owners_receive_and_answer(size: int) -> None:
    chance = np.random.default_rng(size)
    bounds = bounds_of(chance.integers(100, size=size - 1).tolist(), 100)
    numbers = [np.sort(chance.integers(100, size=chance.integers(60))) for _ in range(size)]
    places = [chance.integers(10**6, size=len(part)).astype(np.int32) for part in numbers]

    def speak(ranks: Communicator, here: Callable[[Array], Array]) -> Sequence[Array]:
        owners, own, known = Owners(bounds, ranks), here(numbers[ranks.rank]), here(places[ranks.rank])
        values = here(np.arange(owners.own.start, owners.own.stop, dtype=np.int16))
        names = smallest_ids(owners, own, known, known)
        return [*owners.send(own, known, own * 2), *owners.request(own[::-1], values, 3.0 * values), names]

    on_both(size, speak)


def test_arcs_are_in_the_requested_memory() -> None:
    shard = split(shuffled(random_edges(9, 300, 2000, True)), np.array([0, 100, 300]))[0]
    for place, kind in (("device", cupy.cuda.runtime.memoryTypeDevice), ("host", cupy.cuda.runtime.memoryTypeHost)):
        indices = to_device(shard, place).local_out.indices
        assert cupy.cuda.runtime.pointerGetAttributes(indices.data.ptr).type == kind
        assert to_host(indices.sum()) == shard.local_out.indices.sum()
