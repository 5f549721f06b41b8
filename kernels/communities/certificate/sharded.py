"""Certificate of communities over shards, by the rules of `kernels.communities.certificate`; ghosts have their owners' labels."""

from dataclasses import replace

import numpy as np

from kernels.answers import Certificate, Components
from kernels.certificate.global_view import GlobalView
from kernels.certificate.rules import Broken, at
from kernels.communities.certificate import RULES
from kernels.communities.certificate.figures import ArcSums, arcs_inside, connected, modularity, products, within
from kernels.communities.certificate.votes import Astray, another, first_astray
from kernels.distributed import Communicator, Halo, Shard
from kernels.distributed.columns import add_at, distinct
from kernels.distributed.shard import LocalArcs
from kernels.graph import OFFSET, Array, Csr
from kernels.wcc.sharded import wcc


def certify_communities(shard: Shard, communicator: Communicator, answer: Components) -> Certificate:
    """Prove the communities of all ranks' own rows. A collective; the same verdict on all ranks."""
    view = GlobalView(shard, communicator)
    try:
        own = view.form_of_labels(answer.labels)
        labels = Halo(shard, communicator).extended(own)
        _require_preferred(view, labels)
    except Broken as broken:
        return Certificate(False, str(broken), RULES)
    named = communicator.sum(int((own == shard.local_rows[: len(own)]).sum()))
    apart, arcs = _parts_apart(view, labels), communicator.sum(len(shard.local_out.indices))
    return Certificate(True, "", (*RULES, connected(apart, named), modularity(arcs, _sums_of(view, labels))))


def _require_preferred(view: GlobalView, labels: Array) -> None:
    """Raise Broken on all ranks for the first row that prefers another label."""
    shard = view.shard
    here = first_astray(shard.local_out, shard.local_into, labels, len(shard.ids), view.num_vertices)
    fault = [] if here is None else [here.row + shard.rows.start, *here[1:], int(at(labels, here.row))]
    for evidence in view.first(np.array(fault, OFFSET, like=shard.ids)):
        *astray, label = evidence.tolist()
        raise Broken(another(view, label, Astray(*astray)))


def _parts_apart(view: GlobalView, labels: Array) -> int:
    """Number of communities that are not connected."""
    shard, num_own = view.shard, len(view.shard.ids)
    parts = wcc(_within(shard, labels), view.communicator).answer.labels
    own, rows = labels[:num_own], shard.local_rows[:num_own]
    (here,) = view.rows.send(distinct(own[(parts == rows) & (own != parts)]))
    return view.sum(len(distinct(here)))


def _within(shard: Shard, labels: Array) -> Shard:
    """The shard without the arcs between communities, and without the ghosts to which no other arc leads."""
    num_own = len(shard.ids)
    sides = [within(side, labels) for side in ((shard.local_out,) if shard.symmetric else (shard.local_out, shard.local_into))]
    kept = np.zeros_like(labels, np.bool_)
    kept[:num_own] = True
    for side in sides:
        kept[side.indices] = True
    numbers, ghosts = (np.cumsum(kept) - 1).astype(labels.dtype), shard.ghosts[kept[num_own:]]
    arcs = [LocalArcs(_of_rows(side, numbers, num_own + len(ghosts)), shard.rows.start, num_own, ghosts) for side in sides]
    positions = shard.ghost_positions[kept[num_own:]]
    return replace(shard, out=arcs[0], into=arcs[-1], ghosts=ghosts, ghost_positions=positions)


def _of_rows(side: Csr, numbers: Array, num_rows: int) -> Csr:
    """Arcs by other numbers of rows; offsets of so many rows, where there are those of ghosts, which have no arcs."""
    return Csr(side.offsets[: num_rows + 1], numbers[side.indices], None)


def _sums_of(view: GlobalView, labels: Array) -> ArcSums:
    """The sums of the graph."""
    shard, num_own = view.shard, len(view.shard.ids)
    own = labels[:num_own]
    order = np.argsort(own)
    degrees = [np.diff(side.offsets[: num_own + 1])[order] for side in (shard.local_out, shard.local_into)]
    here, *received = view.rows.send(own[order], *degrees)
    sums = [np.zeros_like(shard.ids) for _ in received]
    for of_rows, degree in zip(sums, received, strict=True):
        add_at(of_rows, here, degree)
    return ArcSums(*map(view.sum, (arcs_inside(shard.local_out, labels), *products(*sums))))
