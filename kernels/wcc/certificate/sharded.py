"""Certificate of weak components over shards, by the rules of `kernels.wcc.certificate`.

Each rank grows trees over its own arcs, and label rounds join the trees of all ranks (connectivity.py); every vertex then has to
be in the component of its label.
"""

from kernels.answers import Certificate, Components
from kernels.certificate.global_view import GlobalView, evidence
from kernels.certificate.rules import Broken, verdict
from kernels.distributed import Communicator, Halo, Shard
from kernels.graph import NO_ROW
from kernels.wcc.certificate import RULES, backend_of, reasons
from kernels.wcc.certificate.connectivity import components


def certify_wcc(shard: Shard, communicator: Communicator, answer: Components) -> Certificate:
    """Prove that the labels of all ranks' rows are the weak components, named by their smallest external id. A collective."""
    return verdict(RULES, _check, shard, communicator, answer)


def _check(shard: Shard, communicator: Communicator, answer: Components) -> None:
    view, passes = GlobalView(shard, communicator), backend_of(shard.out)
    own = view.form_of_labels(answer.labels)
    halo = Halo(shard, communicator)
    across = view.first(*evidence(shard, None, passes.first_across(shard.local_out, len(own), halo.extended(own))))
    if across:
        src, dst, _ = across
        raise Broken(reasons.two_labels(view, view.spread(own), (int(src[0]), int(dst[0]))))
    number = components(view, halo, passes.trees(shard))
    (of_label,) = view.rows.request(own, number)
    row = view.first_row(of_label != number)
    if row != NO_ROW:
        raise Broken(reasons.apart(view, view.spread(own), row))
