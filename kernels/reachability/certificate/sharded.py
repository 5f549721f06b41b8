"""Proof of a reachability index over shards: `kernels.reachability.certificate` explains why the rules prove it.

Every rule is about a node and its neighbours, so the node's owner checks it, after one exchange per label for its ghosts. The
roots' blocks are consecutive in the order of visits, which is the order of nodes, rotated and perhaps reversed: a rank needs the
last root of the rank before it, and the first root of the rank after it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernels.answers import Certificate, Labels
from kernels.arrays import frozen, is_cupy_array
from kernels.certificate.global_view import GlobalView
from kernels.certificate.rules import Broken, name_of, verdict
from kernels.distributed import Communicator, Halo, Shard
from kernels.distributed.shard import LocalArcs
from kernels.gpu.loader import to_host
from kernels.graph import OFFSET, Array, Csr
from kernels.reachability.certificate import REACHABILITY_RULES, passes, reasons
from kernels.reachability.certificate.forms import of_dimension, require_labels
from kernels.reachability.certificate.sharded_condensation import NodeNames, check_condensation
from kernels.reachability.keys import key, salt_of

RULES = (*REACHABILITY_RULES, "every vertex has its component's labels")


def certify_reachability(shard: Shard, communicator: Communicator, answer: Any) -> Certificate:
    """Prove that `answer` is the index that `kernels.reachability` defines, by method "tree". A collective.

    Args:
        answer: As `kernels.reachability.sharded.reachability` returns it.

    Returns:
        The same on all ranks; that of a single rank with one more rule. That of a malformed answer does not hold.

    Pairs u * C + v of nodes have to fit int64: at most 3 * 10^9 nodes. The answer has NumPy arrays. For a shard on a GPU the
    components are proved there, and the rest on the CPU.
    """
    return verdict(RULES, _check, shard, communicator, answer)


def _check(shard: Shard, communicator: Communicator, answer: Any) -> None:
    view = GlobalView(_on_host(shard), communicator)
    nodes, names = check_condensation(view, shard, answer.index.condensation, answer.nodes)
    labels = _require_form(view, answer.index.labels, len(nodes.shard.ids))
    subject = _Subject(view, nodes, names, Halo(nodes.shard, communicator), labels)
    subject.require("level", labels.level, passes.first_wrong_level, subject.into, labels.level)
    subject.require("height", labels.height, passes.first_wrong_level, subject.out, labels.height)
    subject.require_supports()
    for dimension in range(labels.dimensions):
        subject.require_dimension(dimension)
    _require_rows(view, nodes, answer, labels)


def _on_host(shard: Shard) -> Shard:
    """The same shard with NumPy arrays."""
    if not is_cupy_array(shard.ghosts):
        return shard
    ids, positions, ghosts, ghost_positions = map(to_host, (shard.ids, shard.positions, shard.ghosts, shard.ghost_positions))

    def arcs(csr: Csr) -> Csr:
        return LocalArcs(Csr(to_host(csr.offsets), to_host(csr.indices), None), shard.rows.start, len(ids), ghosts)

    out = arcs(shard.local_out)
    into = out if shard.symmetric else arcs(shard.local_into)
    return Shard(shard.rank, shard.bounds, ids, positions, out, into, ghosts, ghost_positions, shard.directed)


def _require_form(view: GlobalView, stated: Any, num_nodes: int) -> Labels:
    labels: Labels = view.together(lambda: require_labels(stated, num_nodes, view.shard.ghosts.dtype))
    view.require("" if labels.method == "tree" else f"labels are of method {labels.method!r}, which needs a single rank")
    alike = np.array([labels.dimensions, labels.seed >> 32, labels.seed & 0xFFFFFFFF, *labels.supports.tolist()], OFFSET)
    view.require("" if (view.communicator.least(alike) == alike).all() else "dimensions, seeds or supports differ between ranks")
    return labels


@dataclass(frozen=True)
class _Subject:
    """What is proved, with the views that the reasons read."""

    view: GlobalView
    nodes: GlobalView
    names: NodeNames
    halo: Halo
    labels: Labels

    @property
    def out(self) -> Csr:
        """Children as local nodes."""
        return self.nodes.shard.local_out

    @property
    def into(self) -> Csr:
        """Parents as local nodes."""
        return self.nodes.shard.local_into

    def require(self, name: str, stated: Array, first_wrong: Any, csr: Csr, *of_nodes: Array) -> None:
        """Raise Broken if a pass over own nodes finds a wrong one; it reads the arrays `of_nodes`, extended to ghosts."""
        place = first_wrong(frozen(csr.offsets), frozen(csr.indices), *(frozen(self.halo.extended(array)) for array in of_nodes))
        node = self._first(place)
        if node >= 0:
            raise Broken(reasons.wrong_label(self.view, self.names, name, self.nodes.spread(stated), node))

    def _first(self, place: int) -> int:
        """The first node of all ranks whose pass returned a local node, or -1; a pass may end at a ghost, which is ignored."""
        is_own = 0 <= place < len(self.nodes.shard.ids)
        places = self.nodes.first(np.array([self.nodes.rows.start + place] if is_own else [], OFFSET))
        return int(places[0][0]) if places else -1

    def require_supports(self) -> None:
        """Raise Broken unless supports are those of their bands, and their bits are passed on."""
        labels, shard = self.labels, self.nodes.shard
        scores = (np.diff(shard.into.offsets) + 1) * (np.diff(shard.out.offsets) + 1)
        known = np.flatnonzero((labels.supports >= 0) & (labels.supports < shard.num_vertices))
        support_scores = np.zeros(len(labels.supports), OFFSET)
        (support_scores[known],) = self.nodes.rows.request(labels.supports[known], scores)
        levels = self.view.communicator.max(int(labels.level.max(initial=-1))) + 1
        place, present = passes.first_wrong_support(
            labels.level, scores, self.nodes.rows.start, shard.num_vertices, levels, labels.supports, support_scores
        )
        places = self.view.first(np.array([place] if place >= 0 else [], OFFSET))
        wrong = np.flatnonzero((self.view.communicator.most(present.astype(np.uint8)) == 1) != (labels.supports != -1))
        if places or len(wrong):
            raise Broken(reasons.wrong_support(int(places[0][0]) if places else int(wrong[0])))
        own = np.zeros(len(shard.ids), np.uint64)
        mine = np.flatnonzero((labels.supports >= self.nodes.rows.start) & (labels.supports < self.nodes.rows.stop))
        own[labels.supports[mine] - self.nodes.rows.start] = np.uint64(1) << mine.astype(np.uint64)
        self.require("reaches", labels.reaches, passes.first_wrong_bits, self.out, own, labels.reaches)
        self.require("reached", labels.reached, passes.first_wrong_bits, self.into, own, labels.reached)

    def require_dimension(self, dimension: int) -> None:
        """Raise Broken unless the intervals of a dimension follow the rules."""
        labels, extended = self.labels, self.halo.extended
        out, into, level, (first, last, low, post) = of_dimension(labels, dimension, self.out, self.into)
        draws = dimension > 0, salt_of(labels.seed, dimension)
        numbers, num_nodes = self.nodes.shard.local_rows, self.nodes.num_vertices
        parents = passes.drawn_parents(into.offsets, into.indices, extended(level), numbers, len(first), *draws)
        wrong = num_nodes if self._are_roots_wrong(level, first, last, *draws) else -1
        if wrong < 0:
            sides = extended(parents), extended(first), extended(last)
            place = passes.first_wrong_block(out.offsets, out.indices, numbers, num_nodes, *sides, len(first), *draws)
            wrong = self._first(place)
        if wrong >= 0:
            raise Broken(reasons.wrong_blocks(self.view, self.names, dimension, wrong))
        self.require(f"low of dimension {dimension}", low, passes.first_wrong_low, out, last, low)
        self.require(f"post of dimension {dimension}", post, passes.first_wrong_post, out, last, post)

    def _are_roots_wrong(self, level: Array, first: Array, last: Array, random: bool, salt: np.uint64) -> bool:
        """Whether the blocks of the roots, in the order of visits, are not consecutive from 1 to C."""
        communicator, num_nodes = self.view.communicator, self.nodes.num_vertices
        roots = np.flatnonzero(level == 0)
        lasts = last[roots].astype(OFFSET)
        ends = communicator.gather(np.concatenate([lasts[:1], lasts[-1:]]))
        counts = np.concatenate(communicator.gather(np.array([len(roots)], OFFSET)))
        total, start = int(counts.sum()), int(counts[: communicator.rank].sum())
        if not total:
            return num_nodes > 0
        drawn = int(key(salt, num_nodes, num_nodes)) if random else 0
        begin, reverse = (drawn >> 1) % total, drawn & 1
        wrong = False
        if len(roots):
            known = [of_rank for of_rank in ends[communicator.rank :] + ends[: communicator.rank] if len(of_rank)]
            before, after = known[-1][1:], known[1 % len(known)][:1]
            number = start + np.arange(len(roots))
            place = ((begin - number) if reverse else (number - begin)) % total
            previous = np.concatenate([lasts[1:], after] if reverse else [before, lasts[:-1]])
            due = np.where(place == 0, 1, previous + 1)
            wrong = bool(((first[roots] != due) | (lasts < due) | ((place == total - 1) & (lasts != num_nodes))).any())
        return self.view.any(wrong)


def _require_rows(view: GlobalView, nodes: GlobalView, answer: Any, labels: Labels) -> None:
    """Raise Broken unless the own rows have the labels of their nodes."""
    condensation, rows = answer.index.condensation, answer.rows
    columns = [labels.level, *labels.low, *labels.post, condensation.names]
    *expected, name = nodes.rows.request(condensation.node, *columns)
    dimensions = labels.dimensions
    forms = {"labels": name, "level": expected[0], "low": np.stack(expected[1 : 1 + dimensions])}
    forms["post"] = np.stack(expected[1 + dimensions :])
    for field, right in forms.items():
        stated = getattr(rows, field, None)
        fits = isinstance(stated, np.ndarray) and stated.shape == right.shape and stated.dtype == right.dtype
        view.require("" if fits else f"{field} of the vertices is not an array of {right.shape} {right.dtype}")
        wrong = np.atleast_2d(stated != right)
        row = view.first_row(np.logical_or.reduce(wrong, axis=0))
        if row >= 0:
            raise Broken(f"vertex {name_of(view, row)}: its {field} is not its component's")
