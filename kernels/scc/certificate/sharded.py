"""Certificate of strong components over shards, by the rules of `kernels.scc.certificate`.

Kahn's algorithm over the classes (Topological sorting of large networks, CACM 5(11), 1962): each rank searches as far as its own
arcs lead, then reports to the owners of its ghosts which of these are reached, and to the owners of labels how many arcs into
their classes it has read. It takes as many supersteps as such a search crosses from rank to rank.
"""

from kernels.answers import Certificate, Components
from kernels.certificate.global_view import GlobalView
from kernels.certificate.rules import Broken, verdict
from kernels.distributed import Communicator, Halo, Shard
from kernels.graph import NO_ROW, Array
from kernels.scc.certificate import RULES, reasons
from kernels.scc.certificate.peeling import Peeling


def certify_scc(shard: Shard, communicator: Communicator, answer: Components) -> Certificate:
    """Prove that the labels of all ranks' rows are the strong components, named by their smallest external id. A collective."""
    return verdict(RULES, check_scc, shard, communicator, answer)


def check_scc(shard: Shard, communicator: Communicator, answer: Components) -> None:
    """Raise Broken, on all ranks, at the first of RULES that is broken. A collective."""
    view = GlobalView(shard, communicator)
    own = view.form_of_labels(answer.labels)
    halo = Halo(shard, communicator)
    labels = halo.extended(own)
    _require_covered(view, own, Peeling(view, halo, shard.local_out, labels).search(waits=True), forward=True)
    if shard.symmetric:
        return
    backward = Peeling(view, halo, shard.local_into, labels)
    # The classes have no cycle, so no class has to wait. A waiting search may miss another row first.
    if view.any(not backward.search(waits=False).all()):
        _require_covered(view, own, backward.search(waits=True), forward=False)


def _require_covered(view: GlobalView, labels: Array, reached: Array, *, forward: bool) -> None:
    if not view.any(not reached.all()):
        return
    # A class was searched if its label is reached. If all of these are covered, the others lie on or behind a cycle.
    (label_reached,) = view.rows.request(labels, reached)
    row = view.first_row(~reached & label_reached)
    if row != NO_ROW:
        raise Broken(reasons.uncovered(view, view.spread(labels), row, forward))
    row = view.first_row(~reached)
    raise Broken(reasons.cyclic(view, view.spread(labels), row))
