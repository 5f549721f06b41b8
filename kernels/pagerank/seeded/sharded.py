"""Personalised PageRank over shards, the same bits for any number of ranks; `iteration.py` has the method."""

from collections.abc import Sequence

from kernels.answers import Scores
from kernels.arrays import on_gpu
from kernels.distributed import Communicator, Halo, Shard, ShardAnswer
from kernels.graph import Csr
from kernels.pagerank.parameters import DAMPING, TOLERANCE, Personalization, checked
from kernels.pagerank.seeded.iteration import RankedRows, iterate, step_of


def rankings(
    shard: Shard,
    communicator: Communicator,
    personalizations: Sequence[Personalization],
    damping: float = DAMPING,
    tolerance: float = TOLERANCE,
    iterations: int | None = None,
) -> list[ShardAnswer[Scores]]:
    """Find the scores of every own row for each personalization, as `kernels.pagerank.seeded.rankings`. A collective.

    Args:
        personalizations: Their rows are those of the whole graph, and all ranks have the same.
        damping, tolerance, iterations: See there.

    Raises ValueError as there.
    """
    parameters = checked(damping, tolerance, iterations)
    own = Csr(shard.into.offsets, shard.local_into.indices, None)
    step = step_of(on_gpu(shard.out, "pagerank over shards"), shard.out.offsets, own, shard.derived)
    rows, halo = RankedRows(shard.rows, shard.num_vertices), Halo(shard, communicator)
    rankings = iterate(rows, step, communicator, halo.extended, personalizations, parameters)
    return [ShardAnswer(scores, scores.iterations) for scores in rankings]
