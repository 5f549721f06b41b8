"""The check of a layout on every rank of a group, with the passes of the arrays' backend."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.cpu.parallel import elementwise
from kernels.distributed import Communicator, Owners, Shard
from kernels.gpu.loader import to_host
from kernels.gpu.transfer import to_device
from kernels.graph import ID, OFFSET, Array, Csr, Graph, index_dtype
from kernels.layout.certificate.claim import Claim
from kernels.layout.certificate.constants import BACKWARD, BOTH, FORWARD, TURNED
from kernels.layout.certificate.vertices import ClaimedVertices, HeldRows, backend_of, held_rows, require
from kernels.layout.rules import ArcRules, Edges, EdgeSource


def check(edges: EdgeSource, rules: ArcRules, claim: Claim, graph: Graph | Shard, ranks: Communicator) -> None:
    """Raise Broken, on all ranks, at the first rule that the stored graph breaks."""
    held = held_rows(graph, ranks)
    for name, csr, stated in (("out", held.out, claim.out_degrees), ("in", held.into, claim.in_degrees)):
        if name == "out" or held.into is not held.out:
            require(ranks, malformed(name, csr, held, index_dtype(claim.vertices)))
            degrees = to_host(held.degrees(csr))
        same = len(degrees) == len(stated) and elementwise(np.equal, degrees, to_host(stated), dtype=np.bool_).all()
        require(ranks, "" if same else f"the stored {name}-degrees are not those of the rows")
    vertices = ClaimedVertices(graph, held, ranks)
    require(ranks, _differs("vertices", claim.vertices, int(held.bounds[-1])))
    require(ranks, _differs("declared vertices", len(rules.declared), vertices.count_of(rules.declared)))
    proof = Proof(rules, vertices, held, ranks)
    read, dropped = proof.read(edges), proof.typed(claim.dropped)
    proof.require_counts(claim, ranks.sum(read.count), ranks.sum(len(read.loops)))
    proof.require_same(edges, read.sums, dropped)
    proof.require_stored(dropped)
    unnamed = vertices.first_unnamed(rules.declared, read.loops)
    require(ranks, f"vertex {unnamed} is neither declared nor in an edge" if unnamed >= 0 else "")


def check_weights(dropped: Edges, rules: ArcRules, graph: Graph | Shard, ranks: Communicator) -> None:
    """Raise Broken, on all ranks, at the first dropped edge that is heavier than the stored arc. The graph is proved."""
    held = held_rows(graph, ranks)
    proof = Proof(rules, ClaimedVertices(graph, held, ranks), held, ranks)
    proof.require_stored(proof.typed(dropped), alike=True)


@dataclass(frozen=True)
class ReadEdges:
    """What the proof keeps of this rank's edges, which it reads once."""

    count: int
    loops: Array  # int64: the external id of each self-loop
    sums: Array  # uint64 [4]: the fingerprint of the edges of all ranks


class Proof:
    """What is proved of a rank's edges and rows. Methods are collective and raise Broken."""

    def __init__(
        self, rules: ArcRules, vertices: ClaimedVertices, held: HeldRows, ranks: Communicator, keys: Array | None = None
    ):
        self._rules, self._vertices, self._held, self._ranks = rules, vertices, held, ranks
        self._backend = backend_of(held.ids)
        drawn = np.random.default_rng().integers(1 << 64, size=5, dtype=np.uint64)
        self.keys = ranks.gather(drawn, alike=True)[0] if keys is None else keys  # of rank 0

    def typed(self, edges: Edges) -> Edges:
        """Edges with weights of the stored arcs' type."""
        weights, stored = edges.weights, self._held.out.weights
        if weights is None or stored is None:
            require(self._ranks, "" if weights is stored else "only the edges or only the stored arcs have weights")
            return edges
        most = int(weights.max()) if len(weights) and weights.dtype.kind == "i" else 0
        fits = weights.dtype == stored.dtype or (weights.dtype.kind == stored.dtype.kind == "i" and most < 2**31)
        require(self._ranks, "" if fits else f"stored weights are {stored.dtype}, which those of the edges do not fit")
        return replace(edges, weights=weights.astype(stored.dtype, copy=False))

    @property
    def role(self) -> int:
        """How arcs of the edges are added to a fingerprint: TURNED, BOTH or FORWARD."""
        return TURNED if self._rules.both else BOTH if self._held.into is self._held.out else FORWARD

    def read(self, edges: EdgeSource) -> ReadEdges:
        """Read this rank's edges: of several ranks in one block."""
        count, loops, sums = 0, list[Array](), np.zeros(4, np.uint64)
        for block in map(self.typed, edges.blocks()):
            loop = np.flatnonzero(elementwise(np.equal, block.src, block.dst, dtype=np.bool_))
            count, sums = count + block.count, sums + self._sums_here(block, self.role)
            loops.append(block.src[loop].astype(ID))
        ends = np.concatenate(loops) if loops else self._held.ids[:0]
        return ReadEdges(count, ends, self._ranks.total(sums))

    def require_counts(self, claim: Claim, edges: int, loops: int) -> None:
        """Compare the stated counts with the numbers of edges, of self-loops among them, and of stored arcs."""
        arcs = self._ranks.sum(int(self._held.out.offsets[self._held.num_own]))
        dropped = 0 if self._rules.keep_self_loops else loops
        added = edges - loops if self._rules.both else 0
        parallel = edges - dropped + added - arcs
        for name, stated, counted in (
            ("arcs", claim.arcs, arcs),
            ("dropped self-loops", claim.self_loops_dropped, dropped),
            ("added arcs", claim.arcs_added, added),
            ("dropped parallel arcs", claim.parallel_arcs_dropped, parallel),
        ):
            require(self._ranks, _differs(name, stated, counted))
        kept = self._rules.keep_parallel and parallel
        require(self._ranks, f"{parallel} parallel arcs are dropped, which the rules keep" if kept else "")

    def require_same(self, edges: EdgeSource, of_edges: Array, dropped: Edges) -> None:
        """Require that out-arcs and in-arcs are equal, and the edges to the stored arcs and the dropped edges together."""
        stored, words = self.stored_sums(), slice(2 if self._rules.both else 4)
        if not np.array_equal(of_edges[words], (stored + self.edge_sums(dropped, self.role))[words]):
            for block in map(self.typed, edges.blocks()):
                self.require_stored(block)  # names an edge that is lost
            require(self._ranks, "a stored arc equals no edge")

    def stored_sums(self) -> Array:
        """The fingerprint of the stored out-arcs, whose reverses the in-arcs have to be."""
        held, symmetric = self._held, self._held.into is self._held.out
        stated, other = ("undirected", "directed") if self._rules.both else ("directed", "undirected")
        require(self._ranks, f"the graph is {other}, but its edges are {stated}" if held.directed == self._rules.both else "")
        require(self._ranks, "the in-arcs are not the out-arcs reversed" if self._rules.both and not symmetric else "")
        stored = self.arc_sums(held.out, BOTH if symmetric else FORWARD)
        into = stored[2:] if symmetric else self.arc_sums(held.into, BACKWARD)[:2]
        require(self._ranks, "" if np.array_equal(stored[:2], into) else "the in-arcs are not the out-arcs reversed")
        return stored

    def edge_sums(self, edges: Edges, role: int) -> Array:
        """The fingerprint of the edges of all ranks: TURNED, BOTH or FORWARD, as `cpu.edge_sums`."""
        return self._ranks.total(self._sums_here(edges, role))

    def _sums_here(self, edges: Edges, role: int) -> Array:
        rules = role, self._rules.keep_self_loops
        sums = np.zeros(4, np.uint64)
        for part in self._here(edges):
            sums += self._backend.edge_sums(part.src, part.dst, part.weights, rules, self.keys)
        return sums

    def _here(self, edges: Edges) -> Iterable[Edges]:
        """Edges where the rows are: those in the host's memory are copied to the GPU, some at a time."""
        comes = is_cupy_array(self._held.ids) and not is_cupy_array(edges.src)
        return map(to_device, edges.pieces()) if comes else [edges]

    def require_stored(self, edges: Edges, alike: bool = False) -> None:
        """Require that every edge has a stored arc that is no heavier, or weighs the same if `alike`."""
        in_pieces = self._ranks.size == 1 and isinstance(edges.src, np.ndarray)
        for piece in edges.pieces() if in_pieces else [edges]:
            for part in self._here(piece):
                self._require_stored(part, alike)

    def _require_stored(self, edges: Edges, alike: bool) -> None:
        """The same for edges of which there are not many, or of several ranks.

        Each is looked up at the end with the greater row, which has fewer arcs if rows are ordered by degree. Edges of a directed
        graph are looked up at their tail.
        """
        columns = [edges.src.astype(ID, copy=False), edges.dst.astype(ID, copy=False)]
        columns += [] if edges.weights is None else [edges.weights]
        if not self._rules.keep_self_loops:
            kept = np.flatnonzero(edges.src != edges.dst)
            columns = [column[kept] for column in columns]
        ends = [self._vertices.rows_of(ids) for ids in columns[:2]]
        for ids, rows in zip(columns[:2], ends, strict=True):
            missing = np.flatnonzero(rows < 0)[:1]
            require(self._ranks, f"vertex {int(ids[int(missing[0])])} of an edge is not stored" if len(missing) else "")
        rows, (src, dst, *weights) = ends[0], columns
        if self._rules.both:
            rows, dst = np.maximum(*ends), np.where(ends[0] >= ends[1], dst, src)
        order = np.argsort(rows)  # rows that are in a file are read in the order in which it has them
        if self._ranks.size == 1:
            rows, dst, weights = rows[order], dst[order], [column[order] for column in weights]
        else:
            sent = Owners(self._held.bounds, self._ranks).send(rows[order], *(column[order] for column in (dst, *weights)))
            rows, dst, *weights = sent[0].astype(rows.dtype), *sent[1:]
        held, weight = self._held, weights[0] if weights else None
        missing = self._backend.first_not_stored(rows, dst, weight, held.out, held.ids, alike=alike)
        reason = ""
        if missing >= 0:
            arc = f"{int(held.ids[int(rows[missing])])} {'-' if self._rules.both else '->'} {int(dst[missing])}"
            of_weight = "" if weight is None else f" of weight {weight[missing]}"
            fault = "a parallel one that is lighter" if alike else "no stored arc that is no heavier"
            reason = f"edge {arc}{of_weight} has {fault}"
        require(self._ranks, reason)

    def arc_sums(self, csr: Csr, role: int) -> Array:
        """The fingerprint of stored arcs, which are in order, as `cpu.arc_sums`."""
        held = self._held
        own = Csr(csr.offsets[: held.num_own + 1], csr.indices, csr.weights)
        return self._total(own, role, self._backend.arc_sums(own, held.ids, role, not self._rules.keep_parallel, self.keys))

    def sums_before(self, old: Csr, role: int, stored: Array) -> Array:
        """The fingerprint of the arcs of a graph whose rows are the first ones of this one, whose fingerprint is `stored`."""
        held, rules = self._held, (role, not self._rules.keep_parallel)
        return self._total(old, role, self._backend.sums_before(old, held.out, stored, held.ids, rules, self.keys))

    def _total(self, own: Csr, role: int, read: tuple[Array, int]) -> Array:
        """The fingerprint of all ranks, unless an arc is broken."""
        (sums, broken), held, reason = read, self._held, ""
        if broken >= 0:
            row = int(np.searchsorted(own.offsets, np.full_like(own.offsets[:1], broken), side="right")[0]) - 1
            name = "in" if role == BACKWARD else "out"
            reason = f"vertex {int(held.ids[row])}: its {name}-arcs do not ascend, or one leads to no vertex"
        require(self._ranks, reason)
        return self._ranks.total(sums)


def malformed(name: str, csr: Csr, held: HeldRows, index: np.dtype[Any]) -> str:
    """Why the arrays of one direction are not rows of arcs; empty if they are. Indices are checked where they are read."""
    offsets, arcs, weights = csr.offsets, len(csr.indices), held.out.weights
    if offsets.dtype != OFFSET or len(offsets) <= held.num_own:
        return f"{name}-offsets are {len(offsets)} of type {offsets.dtype} for {held.num_own} rows"
    ascends = elementwise(np.greater_equal, offsets[1:], offsets[:-1], dtype=np.bool_)
    if int(offsets[0]) != 0 or int(offsets[-1]) != arcs or not bool(ascends.all()):
        return f"{name}-offsets do not ascend from 0 to {arcs}"
    if csr.indices.dtype != index:
        return f"{name}-indices are {csr.indices.dtype}, not {index}"
    if csr.weights is None or weights is None:
        return "" if csr.weights is weights else "only one direction has weights"
    same = len(csr.weights) == arcs and csr.weights.dtype == weights.dtype
    return "" if same else f"{name}-weights are {len(csr.weights)} of type {csr.weights.dtype} for {arcs} arcs"


def _differs(name: str, stated: int, counted: int) -> str:
    return "" if stated == counted else f"{stated} {name} are stated, {counted} found"
