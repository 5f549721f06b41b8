"""Proof of components over shards: `kernels.components.certificate` says why the rules prove them.

Weak: each rank grows trees over its own arcs, and label rounds join the trees of all ranks; a vertex then has to be in the
component of its label. Strong: Kahn's algorithm over the classes (Topological sorting of large networks, CACM 5(11), 1962);
each rank searches as far as it can, then tells the owners of its ghosts that they are reached, and the owners of labels
how many arcs into the class are read. As many supersteps as such a search crosses from rank to rank.
"""

from __future__ import annotations

from kernels.answers import Certificate, Components
from kernels.certificate.global_view import Whole
from kernels.certificate.local_arcs import evidence, passes
from kernels.certificate.rules import Broken, verdict
from kernels.components.certificate import SCC_RULES, WCC_RULES, reasons
from kernels.components.certificate.connectivity import components as joined
from kernels.components.certificate.peeling import Peeling
from kernels.distributed.communicator import Communicator
from kernels.distributed.halo import Halo
from kernels.distributed.shard import Shard
from kernels.graph import NO_ROW, Array


def certify_wcc(shard: Shard, communicator: Communicator, answer: Components) -> Certificate:
    """Prove that the labels of all ranks' rows are the weak components, named by their smallest external id. A collective.

    Returns
    -------
    Certificate
        The same on all ranks, and the one-worker certificate's. Malformed answers do not hold.

    Raises
    ------
    PeerLost
        See `Communicator`.
    """
    return verdict(WCC_RULES, _check_weak, shard, communicator, answer)


def certify_scc(shard: Shard, communicator: Communicator, answer: Components) -> Certificate:
    """Prove that the labels are the strong components. As `certify_wcc`."""
    return verdict(SCC_RULES, check_strong, shard, communicator, answer)


def _check_weak(shard: Shard, communicator: Communicator, answer: Components) -> None:
    whole = Whole(shard, communicator)
    own = whole.form_of_labels(answer.labels)
    halo = Halo(shard, communicator)
    labels = halo.extended(own)
    across = whole.first(*evidence(shard, None, passes(shard).first_across(shard, labels)))
    if across:
        src, dst, _ = across
        raise Broken(reasons.two_labels(whole, whole.spread(own), (int(src[0]), int(dst[0]))))
    number = joined(whole, halo, passes(shard).trees(shard))
    (of_label,) = whole.rows.ask(own, number)
    row = whole.first_row(of_label != number)
    if row != NO_ROW:
        raise Broken(reasons.apart(whole, whole.spread(own), row))


def check_strong(shard: Shard, communicator: Communicator, answer: Components) -> None:
    """Raise Broken, on all ranks, at the first rule of strong components that is broken. A collective."""
    whole = Whole(shard, communicator)
    own = whole.form_of_labels(answer.labels)
    halo = Halo(shard, communicator)
    labels = halo.extended(own)
    _require_peeled(whole, own, Peeling(whole, halo, shard.local_out, labels).search(waits=True), forward=True)
    if shard.symmetric:
        return
    backward = Peeling(whole, halo, shard.local_into, labels)
    # The classes are known to have no cycle, so none needs to wait. Which row is the first to be missed may depend on it.
    if whole.any(not backward.search(waits=False).all()):
        _require_peeled(whole, own, backward.search(waits=True), forward=False)


def _require_peeled(whole: Whole, labels: Array, reached: Array, *, forward: bool) -> None:
    if not whole.any(not reached.all()):
        return
    # a class whose label is reached was searched; if those are whole, what is left waits for itself
    (label_reached,) = whole.rows.ask(labels, reached)
    row = whole.first_row(~reached & label_reached)
    if row != NO_ROW:
        raise Broken(reasons.uncovered(whole, whole.spread(labels), row, forward))
    row = whole.first_row(~reached)
    raise Broken(reasons.cyclic(whole, whole.spread(labels), row))
