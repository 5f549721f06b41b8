"""Certificate of CDLP over shards, by the rule of `kernels.cdlp.certificate`; each round begins with the labels of ghosts."""

from kernels.answers import Certificate, Components
from kernels.cdlp.certificate import recounted, rules_of
from kernels.cdlp.certificate.reasons import another_label
from kernels.cdlp.parameters import ITERATIONS
from kernels.certificate.global_view import GlobalView
from kernels.certificate.rules import Broken, at, name_of, verdict
from kernels.distributed import Communicator, Halo, Shard
from kernels.graph import NO_ROW


def certify_cdlp(shard: Shard, communicator: Communicator, answer: Components, iterations: int = ITERATIONS) -> Certificate:
    """Prove the labels of all ranks' own rows. A collective; the same verdict on all ranks."""
    return verdict(rules_of(iterations), _check, shard, communicator, answer, iterations)


def _check(shard: Shard, communicator: Communicator, answer: Components, iterations: int) -> None:
    view, halo = GlobalView(shard, communicator), Halo(shard, communicator)
    own = view.form_of_rows("labels", answer.labels, len(shard.ids))
    (stated,) = view.rows.request(own, shard.positions)
    sides = (shard.local_out,) if shard.symmetric else (shard.local_out, shard.local_into)
    labels, before = shard.positions, None
    for _ in range(iterations):
        extended = halo.extended(labels)
        after = recounted(sides, extended, before, len(own))
        if not communicator.any((after != labels).any()):
            break
        labels, before = after, extended
    row = view.first_row(stated != labels)
    if row != NO_ROW:
        expected = view.first(shard.ids[shard.positions == at(view.spread(labels), row)])
        names = name_of(view, row), name_of(view, at(view.spread(own), row)), at(expected[0], 0)
        raise Broken(another_label(*names))
