"""Lines on a plane of pixels."""

from kernels.cpu.compiled import njit
from kernels.graph import Array


@njit(cache=True, nogil=True)
def draw_lines(plane: Array, x: Array, y: Array, tails: Array, heads: Array) -> None:
    """Draw a line for each edge: each half has its nearer vertex's number; where lines meet, the lowest number stays.

    Args:
        plane: int [height, width of the plane].
        x, y (int64 [P]): Pixels of the vertices.
        tails, heads (int [n]): Entries of each edge's vertices in `x` and `y`; a line does not depend on which is which.
    """
    for edge in range(len(tails)):
        one, other = tails[edge], heads[edge]
        if (y[one], x[one]) > (y[other], x[other]):
            one, other = other, one
        across, down = x[other] - x[one], y[other] - y[one]
        steps = max(abs(across), abs(down))
        for step in range(steps + 1):
            share = step / max(steps, 1)
            at = round(y[one] + down * share), round(x[one] + across * share)
            plane[at] = min(plane[at], one if 2 * step <= steps else other)
