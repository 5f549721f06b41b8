"""Lines on a plane of pixels."""

from kernels.cpu.compiled import njit
from kernels.graph import Array


@njit(cache=True, nogil=True)
def draw_lines(plane: Array, x: Array, y: Array, tails: Array, heads: Array, levels: Array, width: int) -> None:
    """Draw a line for each edge; where lines meet, the lowest level stays.

    Args:
        plane: uint8 [height, width of the plane].
        x, y (int64 [P]): Pixels of the vertices.
        tails, heads (int [n]): Entries of each edge's vertices in `x` and `y`; a line does not depend on which is which.
        levels: uint8 [n].
        width: Pixels of a line to the right and down; what is beyond the plane is drawn on its border.
    """
    bottom, right = plane.shape[0] - 1, plane.shape[1] - 1
    for edge in range(len(tails)):
        one, other = tails[edge], heads[edge]
        if (y[one], x[one]) > (y[other], x[other]):
            one, other = other, one
        across, down, level = x[other] - x[one], y[other] - y[one], levels[edge]
        steps = max(abs(across), abs(down))
        for step in range(steps + 1):
            share = step / max(steps, 1)
            left, top = round(x[one] + across * share), round(y[one] + down * share)
            for row in range(top, top + width):
                for column in range(left, left + width):
                    at = min(row, bottom), min(column, right)
                    plane[at] = min(plane[at], level)
