"""`advance` on a GPU."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cupy
import numpy as np

from kernels.graph import Array, Csr
from kernels.library.operators.constants import ALL, CHUNK, DENSE, SPARSE, THREADS
from kernels.library.operators.cpu.orders import DTYPES, identity, ordered
from kernels.library.operators.frontier import Frontier
from kernels.library.operators.functions.tree import Function
from kernels.library.operators.gpu.bits import list_marked, words_of
from kernels.library.operators.gpu.compiled import C_TYPES, NUMBERS, Program, ResidentKernel, failures, few_arcs, passed
from kernels.library.operators.gpu.constants import CONTROL_WORDS, FIRST_OF, MARKED_ROWS, REPEAT_BLOCKS, REPEAT_THREADS
from kernels.library.operators.gpu.groups import DegreeGroups, divided, groups_of, lanes_of
from kernels.library.operators.gpu.search import Search, of_bits
from kernels.library.operators.gpu.tiles.sweeps import TiledArcs, TiledSweep, arcs_for, tiled_sweep
from kernels.library.operators.gpu.vertices import items_of
from kernels.library.operators.plan import Captured, Plan
from kernels.library.operators.segments import segmented

_NO_LANES, _NO_PLACES, _NO_PAIR = (None, None, None, 0), (None, None, 0, None), (None, None)  # null pointers


@dataclass(frozen=True)
class Advance:
    """The kernels of an advance.

    `own` and `total` are the types of what rows keep; `start` is the total without arcs; `finds` says whether rows enter a
    frontier; `divisible`, whether the arcs may be visited in parts; `once`, whether something is called once for a row behind
    its arcs. `tiled` is the sweep in the order of tiles, if there can be one.
    """

    kernels: Program
    own: np.dtype[Any]
    total: np.dtype[Any]
    start: Any
    finds: bool
    divisible: bool
    before: bool
    once: bool
    tiled: TiledSweep | None


def program(before: Function | None, edge: Function, after: Function | None, collect: str | None, repeats: str) -> Advance:
    """The kernels around these functions, compiled on first use."""
    edge_finds, after_finds = collect is None and edge.result == "b", after is not None and after.result == "b"
    counted = edge.result if collect is None or collect == "first" or edge.result != "b" else "i"
    total = "i" if collect == "first" else counted or "b"
    own = (before.result if before else "") or "i"
    start = DTYPES[total].type(0) if collect is None else identity(collect, total)
    defined = {
        "OWN": C_TYPES[own], "TOTAL": C_TYPES[total], "HOW": NUMBERS.get(collect or "", 0), "HAS_BEFORE": int(before is not None),
        "HAS_AFTER": int(after is not None), "HAS_WEIGHTS": int("weight" in edge.parameters), "EDGE_FINDS": int(edge_finds),
        "AFTER_FINDS": int(after_finds), "REPEATS": int(bool(repeats)), "LIMITED": int(repeats == "limited"),
    }  # fmt: skip
    divisible = collect != "first" and not ordered(collect or "", total) and not {"arc", "place"} & {*edge.parameters}
    source, threads = ("repeat.cuh", REPEAT_THREADS) if repeats else ("arcs.cuh", THREADS)
    roles = {"before": before, "edge": edge, "after": after}
    kernels = Program(source, roles, defined, threads, bool(repeats))
    once, finds = after is not None, edge_finds or after_finds
    tiled = None if repeats else tiled_sweep(roles, defined, total, collect or "")
    return Advance(kernels, DTYPES[own], start.dtype, start, finds, divisible, before is not None, once, tiled)


def run_advance(frontier: Frontier, csr: Csr, plan: Plan, values: Captured) -> Frontier:
    """Visit the arcs; waits for the GPU only if rows enter a frontier."""
    graph, made_of = frontier.graph, plan.program
    tiles = None
    if made_of.tiled and frontier.size and frontier.form != SPARSE:
        tiles = arcs_for(frontier, csr, made_of.tiled, lambda: plan.arguments(values)[1])
    count = frontier.rules.ranges(graph) if frontier.form == ALL and made_of.divisible else 1
    parts = segmented(graph, csr, count) if count > 1 else [csr]
    failed = failures()
    search = Search(frontier, failed) if made_of.finds else None
    marked = frontier.form != SPARSE and graph.num_vertices > MARKED_ROWS  # and the rows that are found are listed afterwards
    kept = [cupy.empty(graph.num_vertices, of) for of in (made_of.own, made_of.total)] if count > 1 or tiles else _NO_PAIR
    places = search.places if search else _NO_PLACES
    bits, queue, capacity, size = places
    outputs = bits, queue, -1 if search and marked else capacity, size, *failed.next(plan.functions)
    captured = passed(plan, values)
    if tiles:
        _visit_tiles(frontier, (csr, tiles), made_of, kept, outputs, captured)
    for number, part in enumerate(parts if frontier.size and not tiles else ()):
        turn = *kept, made_of.start, number, count
        _visit(frontier, (csr, part, (csr is graph.out, number, count)), made_of, turn, outputs, captured)
    if search is None:
        return Frontier(graph, frontier.rules, 0, listed=graph.derived.get(run_advance, lambda: graph.rows_by_id[:0]))
    if marked:
        list_marked(graph, *places)
    return search.new_frontier()


def _visit(
    frontier: Frontier,
    arcs: tuple[Csr, Csr, Any],
    made_of: Advance,
    turn: tuple[Any, ...],
    outputs: tuple[Any, ...],
    captured: list[Any],
) -> None:
    graph, (csr, part, key), form, kernels = frontier.graph, arcs, frontier.form, made_of.kernels
    whole, (listed, bits, size) = divided(graph, part, key), items_of(frontier)
    hubs = whole.hubs
    if form != SPARSE:
        groups, threads, lanes = whole.groups, 1 << 62, lanes_of(graph, part, key)
    else:
        few = size <= THREADS and not hubs  # which the kernel divides itself
        groups, threads, lanes = DegreeGroups(listed, None) if few else groups_of(part, listed), 32 * size, _NO_LANES
    weights = part.weights if part.weights is not None else graph.rows_by_id
    ways = groups.listed, groups.bounds, bits, part.offsets, part.indices, weights, csr.offsets
    sweep = *ways, *hub_values_of(part, hubs, made_of), *turn, *outputs
    shared = hubs > 0 and kernels.defined["HOW"] != FIRST_OF

    def run(name: str, threads: int, *more: Any) -> None:
        kernels.run(kernels.kernel(name, form, graph, part.weights), threads, *sweep, *more, *captured)

    if shared and made_of.before:
        run("begin_hubs", hubs)
    run("sweep_arcs", 1 << 62 if shared else max(threads, THREADS), *lanes, size)
    if shared and (made_of.once or turn[4] > 1):
        run("end_hubs", 32 * hubs)


def _visit_tiles(
    frontier: Frontier,
    arcs: tuple[Csr, TiledArcs],
    made_of: Advance,
    kept: Sequence[Any],
    outputs: tuple[Any, ...],
    captured: list[Any],
) -> None:
    """What happens once for rows, around a sweep in the order of tiles: turns 0 and 2 of 3."""
    graph, (csr, tiles), sweep, form = frontier.graph, arcs, made_of.tiled, frontier.form
    assert sweep is not None
    weights = csr.weights if csr.weights is not None else graph.rows_by_id
    _, bits, rows = items_of(frontier)
    around = None, None, bits, csr.offsets, csr.indices, weights, csr.offsets, *_NO_PAIR, *kept, made_of.start

    def run(kernels: Program, kernel: ResidentKernel, turn: int, threads: int, *more: Any) -> None:
        kernels.run(kernel, threads, *around, turn, 3, *outputs, *more, *captured)

    def run_rows(name: str, turn: int) -> None:
        run(made_of.kernels, made_of.kernels.kernel(name, form, graph, csr.weights), turn, rows, rows)

    if made_of.before or made_of.kernels.defined["HOW"]:
        run_rows("begin_rows", 0)
    tile = tiles.bits, sweep.shared(tiles.bits)
    tile_weights = graph.rows_by_id if tiles.weights is None else tiles.weights
    given = tiles.tasks, tiles.jobs, len(tiles.jobs) - 1, tiles.arcs, tile_weights, tiles.rows
    kernel, blocks = sweep.kernels.kernel("sweep_tiles", form, graph, csr.weights, tile), len(tiles.jobs) - 1
    run(sweep.kernels, kernel, 1, blocks * sweep.kernels.threads, *given, cupy.zeros(1, np.uint64), rows)
    if made_of.once:
        run_rows("end_rows", 2)


def run_repeat(frontier: Frontier, csr: Csr, plan: Plan, values: Captured, most: int, most_work: int) -> tuple[int, Frontier]:
    """Advance until nothing is found or there is more work, in one launch; the number of rounds, or -1 for more than `most`."""
    graph, made_of, failed = frontier.graph, plan.program, failures()
    if frontier.size > most_work:
        return 0, frontier
    whole, size, words = divided(graph, csr, (csr is graph.out, 0, 1)), graph.num_vertices, words_of(graph)
    lists, bits = cupy.empty(2 * size, csr.indices.dtype), cupy.zeros(2 * words, cupy.uint32)
    weights = csr.weights if csr.weights is not None else graph.rows_by_id
    rows, flags = (None, frontier.flags_form) if frontier.form == DENSE else (frontier.rows(), None)
    given = rows, frontier.size, flags, most, size, lists, bits, whole.groups.bounds
    arcs = csr.offsets, csr.indices, weights, *hub_values_of(csr, whole.hubs, made_of), made_of.start
    control, result = cupy.zeros(CONTROL_WORDS, cupy.int64), failed.zeroed()
    end = control, most_work, result, *failed.next(plan.functions), *passed(plan, values)
    kernels = made_of.kernels
    kernel = kernels.kernel("repeat_arcs", SPARSE, graph, csr.weights)
    # Rounds of few arcs cost a barrier each, which is faster with fewer blocks.
    few = few_arcs(graph) and kernel.blocks >= REPEAT_BLOCKS
    kernels.run(kernel._replace(blocks=kernel.blocks // REPEAT_BLOCKS) if few else kernel, 1 << 62, *given, *arcs, *end)
    rounds, left = failed.check().tolist()
    if rounds <= 0:
        return rounds, frontier
    return rounds, of_bits(frontier, bits[words * (rounds & 1) :][:words], left)


def hub_values_of(part: Csr, hubs: int, made_of: Advance) -> tuple[Array | None, Array | None]:
    """Memory for what hubs keep, if there are some: their own values, and the results of their chunks."""
    if not hubs:
        return _NO_PAIR
    chunks = len(part.indices) // (CHUNK // 2) + 2
    return cupy.empty(hubs, made_of.own), cupy.empty(chunks, made_of.total)
