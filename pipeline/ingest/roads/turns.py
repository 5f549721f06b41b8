"""Turn restrictions and traffic signals on the arcs of a road network.

A restriction holds if its ways meet where it says, and each movement is one of single arcs. All others are counted by the reason.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernels.graph import Array
from pipeline.config.roads import TurnCosts
from pipeline.ingest.roads.chains import measure
from pipeline.ingest.roads.network import RoadNetwork
from pipeline.ingest.roads.relations import Restriction
from pipeline.tables.streets import RESTRICTION_SCHEMA, RESTRICTIONS, SIGNAL_SCHEMA, SIGNALS

_NO_STREET = "a way that is no street here, or is not in the file"
_APART = "its ways do not meet"
_SEVERAL = "its ways meet at several places, or pass `via` instead of ending there"
_CUT = "a way `via` that is closed in itself or cut"
_NO_EFFECT = "without effect: a way is closed in that direction"
_TRAP = "the only way that it permits is closed in that direction"


class _Piece(NamedTuple):
    """A street of a way: the ids of its ends, and whether it is open along the way and against it."""

    src: int
    dst: int
    along: bool
    against: bool


class _Wrong(Exception):
    """Why a restriction is not one of this network."""


def place_restrictions(network: RoadNetwork, stated: Sequence[Restriction]) -> tuple[pa.Table, Counter[str]]:
    """The restrictions that hold, as RESTRICTION_SCHEMA, and how many others there are, by the reason."""
    pieces, left, rows = _pieces_of(network, {way for one in stated for way in one.ways}), Counter[str](), []
    for one in stated:
        try:
            rows.append((one.relation, one.only, list(one.ways), _nodes_of(pieces, one)))
        except _Wrong as wrong:
            left[str(wrong)] += 1
    columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[], [], [], []]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, RESTRICTION_SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=RESTRICTION_SCHEMA), left


def _pieces_of(network: RoadNetwork, wanted: set[int]) -> dict[int, list[_Piece]]:
    """The streets of the wanted ways, in the order of each way."""
    chains, known = network.chains, network.known
    ways = known.restricted(chains.way)
    of_wanted = np.flatnonzero(np.isin(ways, np.array(sorted(wanted), np.int64)))
    ends = [known.ids[end[of_wanted]].tolist() for end in chains.ends]
    opens = [(weight[of_wanted] >= 0).tolist() for weight in network.weights]
    pieces: dict[int, list[_Piece]] = {}
    for way, *piece in zip(ways[of_wanted].tolist(), *ends, *opens, strict=True):
        pieces.setdefault(way, []).append(_Piece(*piece))
    return pieces


def _nodes_of(pieces: dict[int, list[_Piece]], one: Restriction) -> list[int]:
    """The nodes at which the ways of a restriction meet, one after the other. Raises _Wrong."""
    if any(way not in pieces for way in one.ways):
        raise _Wrong(_NO_STREET)
    before, *between, after = (pieces[way] for way in one.ways)
    routes = [[*one.via]] if one.via is not None else [*_routes(between)]
    met = [route for route in routes if _touches(before, route[0]) and _touches(after, route[-1])]
    if not met:
        raise _Wrong(_APART)
    opened = [route for route in met if _counts(before, between, after, route)]
    if not opened:
        raise _Wrong(_TRAP if one.only and any(_counts(before, between, None, route) for route in met) else _NO_EFFECT)
    if len(opened) > 1 or _counts(before, between, after, opened[0]) > 1:
        raise _Wrong(_SEVERAL)
    return [node for node in opened[0] if node is not None]


def _routes(ways: list[list[_Piece]]) -> Iterator[list[int]]:
    """The nodes along ways, from either end of the first one to the end of the last, as they are listed. Raises _Wrong."""
    ends = []
    for way in ways:
        whole = all(one.dst == other.src for one, other in pairwise(way))
        if not whole or way[0].src == way[-1].dst:
            raise _Wrong(_CUT)
        ends.append((way[0].src, way[-1].dst))
    for begin in (0, 1):
        route = [ends[0][begin]]
        for pair in ends:
            if route[-1] not in pair:
                break
            route.append(pair[1 - pair.index(route[-1])])
        else:
            yield route


def _touches(way: list[_Piece], node: int | None) -> bool:
    return any(node in (piece.src, piece.dst) for piece in way)


def _counts(before: list[_Piece], between: list[list[_Piece]], after: list[_Piece] | None, route: Sequence[int | None]) -> int:
    """In how many ways arcs lead over ways and nodes; `after` is ignored if it is None."""
    arriving = sum((piece.dst == route[0] and piece.along) + (piece.src == route[0] and piece.against) for piece in before)
    for way, node in zip(between, route[:-1], strict=True):
        along = way[0].src == node
        arriving *= all(piece.along if along else piece.against for piece in way) and _leaving(way, node)
    return arriving if after is None else arriving * _leaving(after, route[-1])


def _leaving(way: list[_Piece], node: int | None) -> int:
    return sum((piece.src == node and piece.along) + (piece.dst == node and piece.against) for piece in way)


def signals_of(network: RoadNetwork, along: Array, against: Array) -> pa.Table:
    """The traffic signals on streets, as SIGNAL_SCHEMA: within them, and where an arc ends.

    Args:
        along, against (bool [M]): Of the nodes, whether signals stop traffic in the direction of the way, and against it.
    """
    chains, columns = network.chains, []
    for direction, stops in enumerate((along, against)):
        place = np.flatnonzero(stops[chains.nodes])
        street = np.searchsorted(chains.first, place, side="right" if direction else "left") - 1
        place, street = place[street >= 0], street[street >= 0]
        passed = place < chains.last[street] + 1 - direction  # not where an arc begins
        place, street = place[passed], street[passed]
        offset = np.empty(len(place), np.int64)
        measure(chains.nodes, chains.first[street], place, network.known.units, offset, 0, len(place))
        columns.append((street, np.full(len(street), bool(direction)), offset))
    street, leads_back, offset = (np.concatenate(column) for column in zip(*columns, strict=True))
    order = np.lexsort((offset, leads_back, street))
    return pa.table([street[order], leads_back[order], offset[order]], schema=SIGNAL_SCHEMA)


def milli_costs(costs: TurnCosts) -> dict[str, int]:
    """The costs of turns that are not free, in milliseconds or millimetres."""
    return {name: round(cost * 1000) for name, cost in costs.model_dump().items() if cost}


def write_turns(folder: Path, restrictions: pa.Table | None, signals: pa.Table | None) -> None:
    """Write what there is beside the edges."""
    for name, table in ((RESTRICTIONS, restrictions), (SIGNALS, signals)):
        if table is not None and len(table):
            pq.write_table(table, folder / name, compression="zstd", write_page_checksum=True)
