"""Edges that lie anywhere to clean arcs at the owners of their vertices: a sample sort of all arcs by external id.

A sample of the ids cuts their range where the ranks get about equally many arcs; every arc goes to the owner of its tail, which
cleans what it gets as one worker cleans all. No rank holds more than its own arcs and the ids at their other ends.

References
----------
Frazer, McKellar: Samplesort, a sampling approach to minimal storage tree sorting (Journal of the ACM, 1970).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernels.distributed.columns import distinct
from kernels.distributed.communicator import Communicator
from kernels.gpu.loader import to_host
from kernels.graph import ID, OFFSET, Array, Csr
from kernels.layout.cleaning import clean

_SAMPLES = 1 << 14  # edges whose ends are looked at to cut the ids: shares differ by about one in a hundred


@dataclass(frozen=True)
class Rules:
    """What is stored of an edge list; as `kernels.layout.cleaning.clean` says.

    Attributes
    ----------
    declared : range
        Ids that exist even where no edge touches them.
    both, keep_self_loops, keep_parallel : bool
    """

    declared: range
    both: bool
    keep_self_loops: bool
    keep_parallel: bool


@dataclass(frozen=True)
class Arcs:
    """Clean arcs of one direction, of a rank's own vertices.

    Attributes
    ----------
    csr : Csr
        A row for each own vertex, ascending by external id; an index is the place of the other end in `heads`.
    heads : int64 [H]
        External ids, ascending, each once: all that stand at an arc's other end, and maybe more.
    """

    csr: Csr
    heads: Array


@dataclass(frozen=True)
class Owned:
    """What a rank has of the vertices in its range of external ids.

    Attributes
    ----------
    cuts : int64 [size - 1]
        A NumPy array: rank r owns the ids below `cuts[r]` that no rank before it owns.
    ids : int64 [n]
        The own vertices, ascending; there may be none.
    out : Arcs
    into : Arcs or None
        None where every arc is stored with its reverse, so that both are alike.
    """

    cuts: Array
    ids: Array
    out: Arcs
    into: Arcs | None

    def ask(self, ids: Array, values: Array, communicator: Communicator) -> Array:
        """Return what the owners have of `ids`, int64 and ascending, in their `values` [n]. Collective."""
        asked = communicator.exchange(np.split(ids, np.searchsorted(ids, np.asarray(self.cuts, like=ids)).tolist()))
        return np.concatenate(communicator.exchange([values[np.searchsorted(self.ids, part)] for part in asked]))


def clean_arcs(src: Array, dst: Array, weights: Array | None, rules: Rules, communicator: Communicator) -> Owned:
    """Bring the arcs of all ranks' edges to the owners of their vertices, and clean them there.

    Parameters
    ----------
    src, dst : int64 [E]
        External ids of this rank's edges, none negative; on a GPU also int32, on all ranks.
    weights : [E] or None
        None negative, or NaN; of one type on all ranks.
    rules : Rules
    communicator : Communicator
    """
    cuts = _cuts(src, dst, rules.declared, communicator)
    declared = _declared(rules.declared, cuts, communicator.rank)
    lists = [(src, dst)]
    if rules.both:
        lists += [(dst, src)]
    near, far, received = _to_owners(lists, weights, cuts, communicator)
    kept = (rules.keep_self_loops, rules.keep_parallel)
    out_heads, out, _ = clean(near, far, received, declared, False, *kept)
    ids = _within(out_heads, cuts, communicator.rank)
    if rules.both:
        return Owned(cuts, ids, Arcs(_rows_of(ids, out, out_heads), out_heads), None)
    near, far, received = _to_owners([(dst, src)], weights, cuts, communicator)
    in_heads, into, _ = clean(near, far, received, declared, False, *kept)
    ids = distinct(np.concatenate([ids, _within(in_heads, cuts, communicator.rank)]))
    return Owned(cuts, ids, Arcs(_rows_of(ids, out, out_heads), out_heads), Arcs(_rows_of(ids, into, in_heads), in_heads))


def _cuts(src: Array, dst: Array, declared: range, communicator: Communicator) -> Array:
    edges = int(communicator.total(np.array([len(src)], OFFSET))[0])
    share = _SAMPLES / max(_SAMPLES, edges + len(declared))
    drawn = np.random.default_rng(communicator.rank).integers(max(len(src), 1), size=int(np.ceil(share * len(src))))
    ends = [to_host(column[np.asarray(drawn, like=column)]).astype(ID) for column in (src, dst)]
    spread = np.linspace(declared.start, declared.stop - 1, int(np.ceil(share * len(declared)))).astype(ID)
    sample = np.sort(np.concatenate([*communicator.gather(np.concatenate(ends)), spread]))
    places = [len(sample) * rank // communicator.size for rank in range(1, communicator.size)]
    return sample[places] if len(sample) else np.zeros(communicator.size - 1, ID)


def _declared(declared: range, cuts: Array, rank: int) -> range:
    start = int(cuts[rank - 1]) if rank else declared.start
    stop = int(cuts[rank]) if rank < len(cuts) else declared.stop
    own = range(max(start, declared.start), min(stop, declared.stop))
    return own or range(0)


def _within(ids: Array, cuts: Array, rank: int) -> Array:
    """Those of ascending ids that a rank owns."""
    return np.split(ids, np.searchsorted(ids, np.asarray(cuts, like=ids)).tolist())[rank]


def _to_owners(
    lists: list[tuple[Array, Array]], weights: Array | None, cuts: Array, communicator: Communicator
) -> tuple[Array, Array, Array | None]:
    """Arcs from `near` to `far`, those of all ranks whose `near` this one owns; a self-loop of the first list alone."""
    parts: list[list[list[Array]]] = [[[], [], []] for _ in range(communicator.size)]
    for number, (near, far) in enumerate(lists):
        for rank, part in enumerate(parts):
            chosen = _places(near, far, cuts, rank, bool(number))
            for column, values in zip(part, (near, far, weights), strict=True):
                if values is not None:
                    column.append(values[chosen])
    return tuple(
        None if values is None else np.concatenate(communicator.exchange([np.concatenate(part.pop(0)) for part in parts]))
        for values in (*lists[0], weights)
    )  # type: ignore[return-value]


def _places(near: Array, far: Array, cuts: Array, rank: int, without_loops: bool) -> Array:
    chosen = near >= (cuts[rank - 1] if rank else 0)
    if rank < len(cuts):
        chosen &= near < cuts[rank]
    if without_loops:
        chosen &= near != far
    return np.flatnonzero(chosen)


def _rows_of(ids: Array, csr: Csr, numbered: Array) -> Csr:
    """The rows of `ids`, which are all that have arcs; the vertices `numbered`, ascending, are those of `csr`."""
    begins = np.append(np.searchsorted(numbered, ids), len(numbered))
    return Csr(csr.offsets[begins], csr.indices, csr.weights)
