"""Clean arcs at the owners of their vertices, from edges on any rank: a sample sort of all arcs by external id.

A sample of the ids divides their range such that the ranks get about equal numbers of arcs. Every arc is sent to the owner of
its tail, which cleans its arcs as a single rank cleans all. No rank holds more than its own arcs and the ids of their heads.

References: Frazer, McKellar: Samplesort, a sampling approach to minimal storage tree sorting (Journal of the ACM, 1970).
"""

from dataclasses import dataclass, replace

import numpy as np

from kernels.distributed.columns import distinct
from kernels.distributed.communicator import Communicator
from kernels.gpu.loader import to_host
from kernels.graph import ID, OFFSET, Array, Csr
from kernels.layout.cleaning import clean
from kernels.layout.rules import ArcRules, Edges

_SAMPLES = 1 << 14  # edges whose endpoints are sampled: the ranks' shares differ by about 1 %


@dataclass(frozen=True)
class ArcsToIds:
    """Clean arcs of a rank's own vertices in one direction."""

    csr: Csr  # a row for each own vertex, ascending by external id; an index is an index into `heads`
    heads: Array  # int64 [H]: distinct external ids, ascending: at least all neighbours


@dataclass(frozen=True)
class VerticesOfRange:
    """The vertices in a rank's range of external ids, and their arcs."""

    cuts: Array  # int64 [size - 1]: a NumPy array: rank r owns the ids below `cuts[r]` that no lower rank owns
    ids: Array  # int64 [n]: the own vertices, ascending; may be empty
    arcs: list[ArcsToIds]  # out-arcs, and in-arcs unless every arc is stored with its reverse, so that both are equal
    self_loops: int  # number of edges that are self-loops of own vertices
    dropped: list[Edges]  # edges from own vertices that were dropped because a parallel one is no heavier

    def request(self, ids: Array, values: Array, communicator: Communicator) -> Array:
        """Return the owners' `values` [n] for `ids`, int64 and ascending. Collective."""
        requested = communicator.exchange(np.split(ids, np.searchsorted(ids, np.asarray(self.cuts, like=ids)).tolist()))
        return np.concatenate(communicator.exchange([values[np.searchsorted(self.ids, part)] for part in requested]))


def clean_arcs(edges: Edges, rules: ArcRules, communicator: Communicator) -> VerticesOfRange:
    """Send the arcs of all ranks' edges to the owners of their vertices and clean them there. Collective."""
    src, dst, weights = edges.src, edges.dst, edges.weights
    cuts = _cuts(src, dst, rules.declared, communicator)
    of_tails = replace(rules, declared=_declared(rules.declared, cuts, communicator.rank), both=False)
    lists = [(src, dst)]
    if rules.both:
        lists += [(dst, src)]
    dropped: list[Edges] = []
    out_heads, out, self_loops = clean(_to_owners(lists, weights, cuts, communicator), of_tails, dropped)
    ids = _within(out_heads, cuts, communicator.rank)
    if rules.both:
        once = [part.take(np.flatnonzero(part.src >= part.dst)) for part in dropped]  # each was received as two arcs
        return VerticesOfRange(cuts, ids, [ArcsToIds(_rows_of(ids, out, out_heads), out_heads)], self_loops, once)
    in_heads, into, _ = clean(_to_owners([(dst, src)], weights, cuts, communicator), of_tails)
    ids = distinct(np.concatenate([ids, _within(in_heads, cuts, communicator.rank)]))
    arcs = [ArcsToIds(_rows_of(ids, out, out_heads), out_heads), ArcsToIds(_rows_of(ids, into, in_heads), in_heads)]
    return VerticesOfRange(cuts, ids, arcs, self_loops, dropped)


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
    """The ids that a rank owns, of ascending `ids`."""
    return np.split(ids, np.searchsorted(ids, np.asarray(cuts, like=ids)).tolist())[rank]


def _to_owners(lists: list[tuple[Array, Array]], weights: Array | None, cuts: Array, communicator: Communicator) -> Edges:
    """Receive the arcs of all ranks' lists of (tails, heads) whose tails this rank owns; self-loops only from the first list."""
    parts: list[list[list[Array]]] = [[[], [], []] for _ in range(communicator.size)]
    for number, (tails, heads) in enumerate(lists):
        for rank, part in enumerate(parts):
            chosen = _chosen(tails, heads, cuts, rank, bool(number))
            for column, values in zip(part, (tails, heads, weights), strict=True):
                if values is not None:
                    column.append(values[chosen])

    def received() -> Array:
        """Exchange the next column, whose parts are freed before the next one."""
        return np.concatenate(communicator.exchange([np.concatenate(part.pop(0)) for part in parts]))

    return Edges(received(), received(), None if weights is None else received())


def _chosen(tails: Array, heads: Array, cuts: Array, rank: int, without_loops: bool) -> Array:
    chosen = tails >= (cuts[rank - 1] if rank else 0)
    if rank < len(cuts):
        chosen &= tails < cuts[rank]
    if without_loops:
        chosen &= tails != heads
    return np.flatnonzero(chosen)


def _rows_of(ids: Array, csr: Csr, numbered: Array) -> Csr:
    """The rows of `ids`, which include all vertices with arcs; `numbered` are the vertices of `csr`. Both ascend."""
    begins = np.append(np.searchsorted(numbered, ids), len(numbered))
    return Csr(csr.offsets[begins], csr.indices, csr.weights)
