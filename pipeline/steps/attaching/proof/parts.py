"""The parts of streets, put together again: they are the streets of the source, and the arcs are those of the parts."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from kernels.cpu.compiled import njit
from kernels.graph import Array
from pipeline.steps.attaching.proof.reading import Attached, Original, require
from pipeline.tables.streets import PART, way_of


@dataclass(frozen=True)
class _Parts:
    """The parts of streets: which street, the ends, millimetres where they are known, and weights, -1 where closed."""

    street: Array
    src: Array
    dst: Array
    length: Array
    weights: Array


def require_parts(before: Original, after: Attached) -> None:
    """Raise ProofFailed unless parts of each street, in the order of both, are the whole street."""
    parts = _of_roads(before, after) if before.roads else _of_straight_streets(before, after)
    begins = np.ones(len(parts.street), np.bool_)
    begins[1:] = np.diff(parts.street) != 0
    ends = np.roll(begins, -1)
    number = parts.street[begins]
    src, dst = (after.former(end[number]) for end in (before.street_src, before.street_dst))
    require(np.array_equal(parts.src[begins], src), "a street begins at another vertex")
    require(np.array_equal(parts.dst[ends], dst), "a street ends at another vertex")
    require(np.array_equal(parts.dst[~ends], parts.src[~begins]), "a part does not begin where the one before it ends")
    starts = np.cumsum(parts.length) - parts.length
    starts -= np.repeat(starts[begins], np.diff(np.append(np.flatnonzero(begins), len(begins))))
    inner = ~begins
    for name, due, is_ in (
        ("street", after.stop_street, parts.street), ("vertex", after.stop_vertex, parts.src),
        ("offset", after.stop_offset, starts),
    ):  # fmt: skip
        require(np.array_equal(is_[inner], due), f"a foot has another {name} than the part behind it")
    first = np.flatnonzero(begins)
    length = np.add.reduceat(parts.length, first) if len(first) else parts.length
    whole = np.repeat(length, np.diff(np.append(first, len(begins))))
    require((parts.length > 0)[~(begins & ends)].all(), "a part has no length")
    for direction in (0, 1):
        weight, total = parts.weights[:, direction], before.weights[number, direction]
        require(np.array_equal(weight < 0, (total < 0)[np.cumsum(begins) - 1]), "a part is open in another direction")
        summed = np.add.reduceat(np.maximum(weight, 0), first) if len(first) else total
        require(np.array_equal(summed, np.maximum(total, 0)), "the weights of a street's parts have another sum")
        due = total[np.cumsum(begins) - 1].astype(np.float64) * parts.length / np.maximum(whole, 1)
        close = np.abs(weight - due) <= 1 + np.abs(due) * 1e-9
        require((close | (weight < 0) | (begins & ends)).all(), "the weight of a part is not in proportion to its length")


def _of_roads(before: Original, after: Attached) -> _Parts:
    """The parts of streets with lines, which are proved here."""
    table = after.streets
    src, dst, length = (table[name].to_numpy() for name in ("src", "dst", "length"))
    begins = ~np.isin(src, after.stop_vertex)
    street = np.cumsum(begins) - 1
    require(int(begins.sum()) == len(before.street_src), "has another number of streets")
    rows = pa.array(street)
    for name in (way_of(table.column_names), "class", "name", *({PART} & {*table.column_names})):
        require(table[name].combine_chunks().equals(before.table[name].take(rows).combine_chunks()), f"a part has another {name}")
    stored = before.table["length"].to_numpy()
    require(np.array_equal(np.add.reduceat(length, np.flatnonzero(begins)) if len(length) else length, stored),
            "the lengths of a street's parts have another sum")  # fmt: skip
    points = table["points"].combine_chunks()
    first, units = points.offsets.to_numpy() // 2, points.values.to_numpy().reshape(-1, 2)
    same = _same_lines(before.first, before.points, street, first, units)
    require(same, "the line of a street's parts is not that of the street")
    weights = np.stack([table[name].fill_null(-1).to_numpy() for name in ("forward", "backward")], axis=1)
    return _Parts(street, src, dst, length, weights)


@njit(cache=True, nogil=True)
def _same_lines(street_first: Array, line: Array, street: Array, first: Array, units: Array) -> Any:
    """Whether the points of a street's parts are those of the street, and the same one where a part ends and the next begins.

    Such a point may be one of the street.
    """
    at = 0
    for part in range(len(street)):
        begin, end = first[part], first[part + 1] - 1
        begins = part == 0 or street[part - 1] != street[part]
        ends = part + 1 == len(street) or street[part + 1] != street[part]
        if begins:
            at = street_first[street[part]]
        elif units[begin, 0] != units[first[part] - 1, 0] or units[begin, 1] != units[first[part] - 1, 1]:
            return False
        if end <= begin:
            return False
        for point in range(begin if begins else begin + 1, end + 1 if ends else end):
            if at == street_first[street[part] + 1] or line[at, 0] != units[point, 0] or line[at, 1] != units[point, 1]:
                return False
            at += 1
        last = street_first[street[part] + 1] - 1
        while not ends and at < last and line[at, 0] == units[end, 0] and line[at, 1] == units[end, 1]:
            at += 1
        if ends and at != street_first[street[part] + 1]:
            return False
    return True


def _of_straight_streets(before: Original, after: Attached) -> _Parts:
    """The parts of the straight streets that have some: between feet, with the weights of the arcs there."""
    numbers, stops = np.unique(after.stop_street, return_counts=True)
    if not len(numbers):
        nothing = np.empty(0, np.int64)
        return _Parts(nothing, nothing, nothing, nothing, np.empty((0, 2), np.int64))
    street = np.repeat(numbers, stops + 1)
    ends = np.cumsum(stops + 1) - 1
    behind = np.delete(np.arange(len(street)), ends - stops)
    length = _lengths(before, after, street)
    src, dst, until = (np.zeros(len(street), np.int64) for _ in range(3))
    src[behind] = dst[behind - 1] = after.stop_vertex
    until[behind - 1], until[ends] = after.stop_offset, length[ends]
    src[ends - stops] = after.former(before.street_src[numbers])
    dst[ends] = after.former(before.street_dst[numbers])
    begin = np.where(np.isin(np.arange(len(street)), ends - stops), 0, np.roll(until, 1))
    weights = np.full((len(street), 2), -1, np.int64)
    rows = np.flatnonzero(np.isin(after.edges[0], after.stop_vertex) | np.isin(after.edges[1], after.stop_vertex))
    assert after.edges[2] is not None
    heads, units = [end[rows] for end in after.edges[:2]], before.in_units(after.edges[2][rows])
    ids = np.unique(np.concatenate(heads))
    codes = _codes(ids, *heads)
    order = np.argsort(codes)
    codes, units = codes[order], units[order]
    require((np.diff(codes) > 0).all(), "two arcs between feet have the same ends")
    for direction, (one, other) in enumerate(((src, dst), (dst, src))):
        wanted = _codes(ids, one, other)
        at = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
        weights[:, direction] = np.where(codes[at] == wanted, units[at], -1)
    require(np.count_nonzero(weights >= 0) == len(codes), "an arc is that of no part")
    if not before.facts.directed:
        require((weights[:, 1] < 0).all(), "an edge is there in both directions")
        weights[:, 1] = weights[:, 0]
    return _Parts(street, src, dst, until - begin, weights)


def _codes(ids: Array, one: Array, other: Array) -> Array:
    """A number for each pair of ids; a negative one for a pair with an unknown id."""
    at, to = (np.minimum(np.searchsorted(ids, end), len(ids) - 1) for end in (one, other))
    codes: Array = np.where((ids[at] == one) & (ids[to] == other), at * len(ids) + to, -1)
    return codes


def _lengths(before: Original, after: Attached, street: Array) -> Array:
    """Millimetres of straight streets, as their feet state them."""
    of = np.zeros(len(before.street_src), np.int64)
    of[after.feet["street"].to_numpy()] = after.feet["length"].to_numpy()
    lengths: Array = of[street]
    return lengths


def require_arcs(before: Original, after: Attached) -> None:
    """Raise ProofFailed unless the arcs are those of parts and, of straight streets, all others of the source."""
    src, dst, weight = after.edges
    assert weight is not None
    if before.roads:
        table = after.streets
        ends = np.stack([table["src"].to_numpy(), table["dst"].to_numpy()], axis=1)
        weights = np.stack([table[name].fill_null(-1).to_numpy() for name in ("forward", "backward")], axis=1).ravel()
        row = np.flatnonzero(weights >= 0)
        due = ends[row // 2, row % 2], ends[row // 2, 1 - row % 2], weights[row]
    else:
        divided = np.zeros(len(before.street_src), np.bool_)
        divided[after.stop_street] = True
        old = [end.astype(np.int64) for end in before.edges[:2]]
        cut = before.street_src[divided], before.street_dst[divided]
        ids = np.unique(np.concatenate(cut)) if divided.any() else np.zeros(1, np.int64)
        kept = ~np.isin(_codes(ids, np.minimum(*old), np.maximum(*old)), _codes(ids, np.minimum(*cut), np.maximum(*cut)))
        due = after.former(old[0][kept]), after.former(old[1][kept]), before.edges[2][kept]
        others = ~(np.isin(src, after.stop_vertex) | np.isin(dst, after.stop_vertex))
        src, dst, weight = src[others], dst[others], weight[others]
    same = all(np.array_equal(one, other) for one, other in zip((src, dst, weight), due, strict=True))
    require(same, "the arcs are not those of the parts and of the streets without places")
