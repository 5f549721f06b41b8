"""`advance` on a GPU."""

from dataclasses import dataclass
from typing import Any

import cupy
import numpy as np

from kernels.graph import Csr
from kernels.operators.constants import ALL, CHUNK, DENSE, SPARSE, THREADS
from kernels.operators.cpu.orders import DTYPES, identity, ordered
from kernels.operators.frontier import Frontier
from kernels.operators.functions.tree import Function
from kernels.operators.gpu.bits import list_marked, words_of
from kernels.operators.gpu.compiled import C_TYPES, NUMBERS, Kernel, Program, failures, few_arcs, passed
from kernels.operators.gpu.constants import CONTROL_WORDS, FIRST_OF, MARKED_ROWS, REPEAT_BLOCKS, REPEAT_THREADS
from kernels.operators.gpu.groups import Division, Groups, divided, groups_of, lanes_of
from kernels.operators.gpu.tiles.sweeps import TiledArcs, TiledSweep, arcs_for, tiled_sweep
from kernels.operators.gpu.vertices import Search, items_of, of_bits
from kernels.operators.plan import Plan
from kernels.operators.segments import segmented

_NULL = np.uintp(0)
_NO_LANES = _NULL, _NULL, _NULL, np.int64(0)


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


def run_advance(frontier: Frontier, csr: Csr, plan: Plan, captured: list[tuple[Any, ...]]) -> Frontier:
    """Visit the arcs; waits for the GPU only if rows enter a frontier."""
    graph, made_of = frontier.graph, plan.program
    tiles = made_of.tiled and frontier.size and arcs_for(frontier, csr, made_of.tiled, captured[1])
    count = frontier.rules.ranges(graph) if frontier.form == ALL and made_of.divisible else 1
    parts = segmented(graph, csr, count) if count > 1 else [csr]
    search = Search(frontier) if made_of.finds else None
    marked = frontier.form != SPARSE and graph.num_vertices > MARKED_ROWS  # and the rows that are found are listed afterwards
    kept = [cupy.empty(graph.num_vertices, of) if count > 1 or tiles else _NULL for of in (made_of.own, made_of.total)]
    numbered = failures().next(plan.functions)
    if tiles:
        _visit_tiles(frontier, (csr, tiles), made_of, kept, [*_found(search, marked, numbered)], passed(captured))
    for number, part in enumerate(parts if frontier.size and not tiles else []):
        turn = *kept, made_of.start, np.int64(number), np.int64(count)
        _visit(
            frontier,
            (csr, part, (csr is graph.out, number, count)),
            made_of,
            turn,
            _found(search, marked, numbered),
            passed(captured),
        )
    if search is None:
        return Frontier(graph, frontier.rules, 0, listed=graph.rows_by_id[:0])
    if marked:
        list_marked(graph, search.bits, search.size, search.queue, search.capacity)
    return search.found()


def _found(search: Search | None, marked: bool, numbered: tuple[Any, Any]) -> tuple[Any, ...]:
    if search is None:
        return _NULL, _NULL, np.int64(0), _NULL, *numbered
    return search.bits, search.queue, np.int64(-1) if marked else search.capacity, search.size, *numbered


def _visit(
    frontier: Frontier,
    arcs: tuple[Csr, Csr, Any],
    made_of: Advance,
    turn: tuple[Any, ...],
    found: tuple[Any, ...],
    captured: list[Any],
) -> None:
    graph, (csr, part, key) = frontier.graph, arcs
    whole, (_, bits, _) = divided(graph, part, key), items_of(frontier)
    sparse = frontier.form == SPARSE
    if sparse:
        assert frontier.listed is not None
        few = frontier.size <= THREADS and not whole.hubs  # which the kernel divides itself
        groups = Groups(frontier.listed, _NULL) if few else groups_of(part, frontier.listed)
        threads, lanes, size = 32 * frontier.size, _NO_LANES, frontier.size
    else:
        groups, threads, lanes, size = whole.groups, 1 << 62, lanes_of(graph, part, key), graph.num_vertices
    hubs = whole.hubs
    weights = part.weights if part.weights is not None else graph.rows_by_id
    hub_values = hub_values_of(part, whole, made_of)
    sweep = (groups.listed, groups.bounds, bits, part.offsets, part.indices, weights, csr.offsets, *hub_values, *turn, *found)
    kernels = made_of.kernels
    shared = kernels.defined["HOW"] != FIRST_OF and hubs > 0

    def run(name: str, threads: int, *more: Any) -> None:
        kernels.run(kernels.kernel(name, frontier.form, graph, part.weights), threads, *sweep, *more, *captured)

    if shared and made_of.before:
        run("begin_hubs", hubs)
    run("sweep_arcs", max(threads, THREADS if not shared else 1 << 62), *lanes, np.int64(size))
    if shared and (made_of.once or int(turn[4]) > 1):
        run("end_hubs", 32 * hubs)


def _visit_tiles(
    frontier: Frontier, arcs: tuple[Csr, TiledArcs], made_of: Advance, kept: list[Any], found: list[Any], captured: list[Any]
) -> None:
    """What happens once for rows, around a sweep in the order of tiles: turns 0 and 2 of 3."""
    graph, (csr, tiles), sweep = frontier.graph, arcs, made_of.tiled
    assert sweep is not None
    weights = csr.weights if csr.weights is not None else graph.rows_by_id
    bits, hubs = items_of(frontier)[1], (_NULL, _NULL)
    around = _NULL, _NULL, bits, csr.offsets, csr.indices, weights, csr.offsets, *hubs, *kept, made_of.start
    rows, form = graph.num_vertices, frontier.form

    def run(kernels: Program, kernel: Kernel, turn: int, threads: int, *more: Any) -> None:
        kernels.run(kernel, threads, *around, np.int64(turn), np.int64(3), *found, *more, *captured)

    def run_rows(name: str, turn: int) -> None:
        run(made_of.kernels, made_of.kernels.kernel(name, form, graph, csr.weights), turn, rows, np.int64(rows))

    if made_of.before or made_of.kernels.defined["HOW"]:
        run_rows("begin_rows", 0)
    tile = tiles.bits, sweep.shared(tiles.bits)
    tile_weights = graph.rows_by_id if tiles.weights is None else tiles.weights
    given = tiles.tasks, tiles.jobs, np.int64(len(tiles.jobs) - 1), tiles.arcs, tile_weights, tiles.rows
    kernel, blocks = sweep.kernels.kernel("sweep_tiles", form, graph, csr.weights, tile), len(tiles.jobs) - 1
    run(sweep.kernels, kernel, 1, blocks * sweep.kernels.threads, *given, cupy.zeros(1, np.uint64), np.int64(rows))
    if made_of.once:
        run_rows("end_rows", 2)


def run_repeat(
    frontier: Frontier, csr: Csr, plan: Plan, captured: list[tuple[Any, ...]], most: int, most_work: int
) -> tuple[int, Frontier]:
    """Advance until nothing is found or there is more work, in one launch; the number of rounds, or -1 for more than `most`."""
    graph, made_of = frontier.graph, plan.program
    if frontier.size > most_work:
        return 0, frontier
    whole, size = divided(graph, csr, (csr is graph.out, 0, 1)), graph.num_vertices
    lists, bits = cupy.empty(2 * size, csr.indices.dtype), cupy.zeros(2 * words_of(graph), cupy.uint32)
    weights = csr.weights if csr.weights is not None else graph.rows_by_id
    rows = frontier.listed if frontier.form == SPARSE else _NULL if frontier.form == DENSE else frontier.rows()
    flags = frontier.flags_form if frontier.form == DENSE else _NULL
    given = rows, np.int64(frontier.size), flags, np.int64(most), np.int64(size), lists, bits, whole.groups.bounds
    arcs = csr.offsets, csr.indices, weights, *hub_values_of(csr, whole, made_of), made_of.start
    result = failures().zeroed()
    end = cupy.zeros(CONTROL_WORDS, cupy.int64), np.int64(most_work), result, *failures().next(plan.functions), *passed(captured)
    kernels = made_of.kernels
    kernel = kernels.kernel("repeat_arcs", SPARSE, graph, csr.weights)
    # Rounds of few arcs cost a barrier each, which is faster with fewer blocks.
    few = few_arcs(graph) and kernel.blocks >= REPEAT_BLOCKS
    kernels.run(kernel._replace(blocks=kernel.blocks // REPEAT_BLOCKS) if few else kernel, 1 << 62, *given, *arcs, *end)
    rounds, left = failures().check().tolist()
    if rounds <= 0:
        return rounds, frontier
    words = words_of(graph)
    return rounds, of_bits(frontier, bits[words * (rounds & 1) :][:words], left)


def hub_values_of(part: Csr, whole: Division, made_of: Advance) -> tuple[Any, Any]:
    """Memory for what hubs keep: their own values, and the results of their chunks."""
    if not whole.hubs:
        return _NULL, _NULL
    chunks = len(part.indices) // (CHUNK // 2) + 2
    return cupy.empty(whole.hubs, made_of.own), cupy.empty(chunks, made_of.total)
