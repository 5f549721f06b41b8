"""Parameters of label propagation."""

ITERATIONS = 10  # rounds: those of the benchmark's graphs


def checked(iterations: int) -> int:
    """Return the number of rounds, or raise ValueError as `kernels.cdlp.cdlp` does."""
    if iterations < 0:
        raise ValueError(f"iterations {iterations} is negative")
    return iterations
