"""Weights with few decimals, which kernels count as integers: `kernels.decimals`. Files have them as the source has.

The unit is a fact of the stored graph. Steps open the graph with weights in units, and tables have decimals again.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kernels.arrays import frozen, is_cupy_array
from kernels.decimals import MOST, counted, in_decimals, places_of
from kernels.graph import Array, Csr, Graph
from pipeline.errors import Damaged
from pipeline.runtime.memory import leave_enough
from pipeline.store.arrays import SpilledArray
from pipeline.store.facts import CountedFacts, GraphFacts
from pipeline.store.manifest import Folder

_PIECE = 1 << 22  # weights that are counted at a time where memory does not hold all


class DecimalPlaces(NamedTuple):
    """How many decimals some weights need, and the largest of them."""

    places: int
    largest: float


def places_in(arcs: Csr) -> DecimalPlaces | None:
    """Those of the weights of some arcs, None if they cannot be counted, as all but float64.

    A float32 is not taken for the shortest decimal that reads as it: several decimals of one unit may do so.
    """
    weights = arcs.weights
    if weights is None or weights.dtype != np.float64 or (places := places_of(weights)) is None:
        return None
    return DecimalPlaces(places, float(weights.max()) if len(weights) else 0.0)


def together(parts: Sequence[DecimalPlaces | None]) -> DecimalPlaces | None:
    """Those of all weights, from parts of them; None if those of a part cannot be counted."""
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    return DecimalPlaces(max(part.places for part in known), max(part.largest for part in known))


def counting(parts: Sequence[DecimalPlaces | None], arcs: int) -> CountedFacts | None:
    """How the weights of a graph's `arcs` out-arcs are counted, from parts of them.

    None if they are not: one of them has too many decimals, or a sum of weights on all arcs might not be exact.
    """
    if (all_of := together(parts)) is None:
        return None
    decimals, largest = all_of.places, round(all_of.largest * 10.0**all_of.places)
    return CountedFacts(decimals=decimals, largest=largest) if largest * max(arcs, 1) <= MOST else None


def decimals_of(folder: Folder) -> int | None:
    """The decimals of the unit in which a stored graph's weights are counted; None if they are not."""
    facts = GraphFacts.of(folder).counted
    return facts.decimals if facts else None


def counted_rows(folder: Folder, rows: Csr) -> Csr:
    """Arcs of a stored graph with weights in units, if they are counted. Raises Damaged for a weight that is no such number."""
    facts = GraphFacts.of(folder).counted
    if facts is None:
        return rows
    try:
        return _counted(folder.path.parent, rows, facts)
    except ValueError as error:
        raise Damaged(f"{folder.path}: the weight {error}, as the manifest says") from None


def _counted(around: Path, rows: Csr, facts: CountedFacts) -> Csr:
    """The same in memory or, where they do not fit, in a file in the folder `around`, if this user may write there."""
    weights = rows.weights
    assert weights is not None
    if is_cupy_array(weights) or leave_enough(weights.nbytes, "cpu") or not os.access(around, os.W_OK):
        return counted(rows, facts.decimals, facts.largest)
    growing: SpilledArray | None = None
    for begin in range(0, len(weights), _PIECE):
        units = counted(replace(rows, weights=weights[begin : begin + _PIECE]), facts.decimals, facts.largest).weights
        assert units is not None
        growing = growing or SpilledArray(around, units.dtype)
        growing.append(units)
    return replace(rows, weights=growing.close()) if growing else counted(rows, facts.decimals, facts.largest)


def counted_graph(folder: Folder, graph: Graph) -> Graph:
    """An opened graph with weights in units, if they are counted. Raises as `counted_rows`."""
    return graph if decimals_of(folder) is None else _with_arcs(graph, lambda rows: counted_rows(folder, rows))


def stated_graph(folder: Folder, graph: Graph) -> Graph:
    """A graph of `counted_graph` with weights as in the source."""
    decimals = decimals_of(folder)
    if decimals is None:
        return graph

    def stated(weights: Array | None) -> Array:
        assert weights is not None
        values = in_decimals(weights, decimals)
        return values if is_cupy_array(values) else frozen(values)

    return _with_arcs(graph, lambda rows: Csr(rows.offsets, rows.indices, stated(rows.weights)))


def _with_arcs(graph: Graph, convert: Callable[[Csr], Csr]) -> Graph:
    out = convert(graph.out)
    return replace(graph, out=out, into=out if graph.symmetric else convert(graph.into))
