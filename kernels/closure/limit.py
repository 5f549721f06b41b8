"""The limit of the number of pairs in a closure."""

from kernels.algorithm import AnswerTooLarge

LIMIT = 100_000_000  # pairs, by default


def rows_within(num_vertices: int, num_arcs: int, limit: int) -> int:
    """How many rows of a closure there are at most, each with a pair for every vertex, if it is not refused."""
    return min(num_vertices, limit // max(1, num_vertices))


def require_few(pairs: int, limit: int) -> None:
    """Raise AnswerTooLarge if this number of pairs, of perhaps more, exceeds the limit."""
    if pairs > limit:
        raise AnswerTooLarge(
            f"the graph has at least {pairs:,} pairs of a vertex and one that it reaches, and the limit is {limit:,}; the index "
            "of stage reachability answers the same question for any pair, without a table of all"
        )
