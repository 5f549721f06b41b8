"""Sources that ranks share, of which each has the whole graph."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from kernels.distributed.communicator import Communicator
from kernels.graph import Array

Result = TypeVar("Result")


def each_share(
    communicator: Communicator, sources: Array, error: type[Exception], work: Callable[[Array], Result]
) -> Result:  # fmt: skip
    """`work` of this rank's share of the sources. A collective.

    Where it raises `error` on a rank, all ranks raise that of the first such rank, as one rank would.
    """
    if communicator.size == 1:
        return work(sources)
    result, reason = None, ""
    try:
        result = work(sources[communicator.rank :: communicator.size])
    except error as raised:
        reason = str(raised)
    reasons = communicator.gather(np.frombuffer(reason.encode(), np.uint8))
    for first in (bytes(of.tolist()).decode() for of in reasons if len(of)):
        raise error(first)
    assert result is not None
    return result
