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


@njit(cache=True, nogil=True)
def draw_polylines(plane: Array, x: Array, y: Array, offsets: Array, tails: Array, heads: Array) -> None:
    """Draw a line over several points for each street, as `draw_lines` does; what is outside of the plane is left out.

    Args:
        plane: int [height, width of the plane].
        x, y (int64 [P]): Pixels of the points, from each street's tail to its head.
        offsets (int64 [n + 1]): Where the points of each street begin.
        tails, heads (int [n]): The numbers of its vertices.
    """
    height, width = plane.shape
    for street in range(len(tails)):
        total = 0
        for at in range(offsets[street] + 1, offsets[street + 1]):
            total += max(abs(x[at] - x[at - 1]), abs(y[at] - y[at - 1]))
        drawn = 0
        for at in range(offsets[street] + 1, offsets[street + 1]):
            across, down = x[at] - x[at - 1], y[at] - y[at - 1]
            steps = max(abs(across), abs(down))
            for step in range(steps + 1):
                share = step / max(steps, 1)
                row, column = round(y[at - 1] + down * share), round(x[at - 1] + across * share)
                if 0 <= row < height and 0 <= column < width:
                    nearer = tails[street] if 2 * (drawn + step) <= total else heads[street]
                    plane[row, column] = min(plane[row, column], nearer)
            drawn += steps
