"""The certificate of flows on NumPy arrays: each pair is checked for itself, on all cores."""

import numpy as np

from kernels.answers import Flows
from kernels.arrays import frozen
from kernels.certificate.rules import Broken, arc_ends, arc_name, name_of
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import over_items
from kernels.flow.capacities import capacities
from kernels.flow.certificate.forms import pair_name, require_flows, require_values
from kernels.graph import Array, Graph

_PAIRS = 4  # that a core checks before it takes others
# What is wrong with a pair.
_CAPACITY, _KEPT, _TARGET, _VERTICES, _CUT, _SUM = range(1, 7)

Arcs = tuple[Array, Array, Array]  # their tails, heads, and capacities, [A]
Rows = tuple[Array, Array]  # where the out-arcs of each row begin [V + 1], and the rows by their external ids [V]
Flow = tuple[Array, Array, Array, Array]  # its arcs, what they carry, and the ends of the arcs of the cut
Pair = tuple[int, int, int]  # source, target, and the stated number of vertices


def check(graph: Graph, flows: Flows) -> None:
    """Raise Broken at the first rule that is broken."""
    flows = require_flows(graph, flows)
    tails = np.repeat(np.arange(graph.num_vertices, dtype=graph.rows_by_id.dtype), np.diff(graph.out.offsets))
    arcs = frozen(tails), frozen(graph.out.indices), frozen(capacities(graph))
    rows = frozen(graph.out.offsets), frozen(graph.rows_by_id)
    sent = np.zeros(len(flows.src), np.int64)

    def check_some(part: range) -> tuple[int, int, int]:
        scratch = np.zeros(graph.num_vertices, np.int64), np.empty(graph.num_arcs, np.int64)
        for pair in part:
            terminals = int(flows.src[pair]), int(flows.dst[pair]), int(flows.vertices[pair])
            carried, cut = slice(*flows.flow_begins[pair : pair + 2]), slice(*flows.cut_begins[pair : pair + 2])
            flow = flows.flow_arcs[carried], flows.amounts[carried], flows.cut_src[cut], flows.cut_dst[cut]
            wrong, where, sent[pair] = _check_pair(arcs, rows, terminals, flow, scratch)
            if wrong:
                return int(wrong), int(where), pair
        return 0, 0, 0

    parts = [range(first, min(first + _PAIRS, len(sent))) for first in range(0, len(sent), _PAIRS)]
    for wrong, where, pair in over_items(parts, check_some):
        if wrong:
            raise Broken(f"{pair_name(graph, flows, pair)}: {_reason(graph, wrong, where)}")
    require_values(graph, flows, sent)


def _reason(graph: Graph, wrong: int, where: int) -> str:
    """`where` is an arc, a row or a number of rows."""
    if wrong in (_CAPACITY, _CUT):
        arc = arc_name(graph, arc_ends(graph, where)) if where >= 0 else "another arc"
        return f"{arc} {'carries more than its capacity, or nothing' if wrong == _CAPACITY else 'is not at its place in the cut'}"
    if wrong == _KEPT:
        return f"vertex {name_of(graph, where)} does not send what it receives"
    if wrong == _TARGET:
        return "the source can send more"
    return f"the source's side has {where} vertices" if wrong == _VERTICES else "the cut does not have the value of the flow"


@njit(cache=True, nogil=True)
def _check_pair(arcs: Arcs, rows: Rows, terminals: Pair, flow: Flow, scratch: tuple[Array, Array]) -> tuple[int, int, int]:
    """What is wrong with a pair, or 0; where; and what the source sends."""
    balance, carried = scratch
    source, target, stated = terminals
    wrong, where = _carry(arcs, terminals, flow, balance, carried)
    sent = balance[source]
    if wrong:
        return wrong, where, sent
    count = _reach(arcs, rows, source, flow, scratch)
    if balance[target]:
        return _TARGET, target, sent
    if count != stated:
        return _VERTICES, count, sent
    arc, total = _cross(arcs, rows, flow, balance)
    if arc != -2:
        return _CUT, arc, sent
    return (0 if total == sent else _SUM), 0, sent


@njit(cache=True, nogil=True)
def _carry(arcs: Arcs, terminals: Pair, flow: Flow, balance: Array, carried: Array) -> tuple[int, int]:
    """Write what arcs carry, and what rows send more than they receive; return what is wrong, and where."""
    tails, heads, capacity = arcs
    carriers, amounts, _, _ = flow
    balance[:], carried[:] = 0, 0
    for number, arc in enumerate(carriers):
        if not 0 < amounts[number] <= capacity[arc]:
            return _CAPACITY, arc
        carried[arc] = amounts[number]
        balance[tails[arc]] += amounts[number]
        balance[heads[arc]] -= amounts[number]
    for row in range(len(balance)):
        if balance[row] != 0 and row not in terminals[:2]:
            return _KEPT, row
    return 0, 0


@njit(cache=True, nogil=True)
def _reach(arcs: Arcs, rows: Rows, source: int, flow: Flow, scratch: tuple[Array, Array]) -> int:
    """Mark the rows to which the source can send more, in the place of the balance; return how many."""
    tails, heads, capacity = arcs
    offsets, carriers = rows[0], flow[0]
    reached, carried = scratch
    order = np.argsort(heads[carriers])  # to go against the flow
    against = heads[carriers][order]
    queue, count, head = np.empty(len(reached), heads.dtype), 1, 0
    reached[:] = 0
    reached[source], queue[0] = 1, source
    while head < count:
        row = queue[head]
        head += 1
        for arc in range(offsets[row], offsets[row + 1]):
            if carried[arc] < capacity[arc] and reached[heads[arc]] == 0:
                reached[heads[arc]], queue[count] = 1, heads[arc]
                count += 1
        place = np.searchsorted(against, row)
        while place < len(against) and against[place] == row:
            tail = tails[carriers[order[place]]]
            if reached[tail] == 0:
                reached[tail], queue[count] = 1, tail
                count += 1
            place += 1
    return count


@njit(cache=True, nogil=True)
def _cross(arcs: Arcs, rows: Rows, flow: Flow, reached: Array) -> tuple[int, int]:
    """The first arc that is not at its place in the cut, -1 where the cut has more, or -2; and the sum of the capacities."""
    _, heads, capacity = arcs
    offsets, rows_by_id = rows
    _, _, cut_src, cut_dst = flow
    total, crossing = 0, 0
    for tail in rows_by_id:
        for arc in range(offsets[tail], offsets[tail + 1] if reached[tail] else offsets[tail]):
            if capacity[arc] > 0 and reached[heads[arc]] == 0:
                if crossing == len(cut_src) or cut_src[crossing] != tail or cut_dst[crossing] != heads[arc]:
                    return arc, total
                total += capacity[arc]
                crossing += 1
    return (-2 if crossing == len(cut_src) else -1), total
