"""The labelling methods and their arguments, and the memory bound."""

from typing import NamedTuple

METHODS = ("tree", "dfs")


class PeakBytes(NamedTuple):
    """Bytes in addition to the graph's arrays, at the peak of building an index and at that of answering queries with it.

    A query takes 2 bytes more for its answer.
    """

    build: int
    queries: int


def require_arguments(kernel: str, dimensions: int, seed: int, method: str) -> None:
    """Raise ValueError unless labels can have these dimensions, seed and method; `kernel` is named in the message."""
    if method not in METHODS:
        raise ValueError(f"{kernel}: unknown method {method!r}; the methods are {', '.join(METHODS)}")
    if dimensions < 1:
        raise ValueError(f"{kernel}: {dimensions} dimensions; at least 1 is needed")
    if not 0 <= seed < 2**64:
        raise ValueError(f"{kernel}: seed {seed} is not in 0..{2**64 - 1}")
