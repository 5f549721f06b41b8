"""The rows of all ranks' vertices in the order of `kernels.layout.orders`, and their division into ranges."""

import numpy as np

from kernels.distributed import Communicator, Owners
from kernels.distributed.dealing import Cut
from kernels.gpu.loader import to_host
from kernels.graph import OFFSET, Array, index_dtype
from kernels.layout.constants import WARP_DEGREE
from kernels.layout.orders import by_degree_in_windows


def in_order(degrees: Array, owners: Owners, window: int | None) -> tuple[Array, Array]:
    """Order the vertices of all ranks as a single rank would. Collective.

    Args:
        degrees (int64 [n]): Out-degrees of this rank's vertices, ascending by external id.
        owners: Owners of the positions.
        window: As in `by_degree_in_windows`; None keeps the order of the ids.

    Returns:
        order (index width of n [n]): This rank's vertices, numbered from 0, by ascending row.
        rows (index width of the graph [n]): Their rows.
    """
    count, row = len(degrees), index_dtype(int(owners.bounds[-1]))
    places = np.arange(count, dtype=row, like=degrees)
    if window is None:
        return places, places + row.type(owners.own.start)
    order = by_degree_in_windows(degrees, window, owners.own.start)
    groups, places_of_group = _groups(degrees[order], (owners.own.start + order.astype(OFFSET)) // window)
    starts = np.flatnonzero(places_of_group)
    firsts = _first_rows(groups[starts], np.diff(np.append(starts, count)), owners.communicator)
    shifts = np.asarray(firsts, like=degrees) - starts
    return order, (shifts[np.cumsum(places_of_group) - 1] + places).astype(row)


def _groups(degrees: Array, windows: Array) -> tuple[Array, Array]:
    """For ordered vertices, group numbers that ascend with the rows, and whether a group begins at each vertex.

    Vertices of one group are adjacent, in the order of the ranks. Windows that lie within one rank form one group.
    """
    numbers = np.where(degrees >= WARP_DEGREE, -degrees, WARP_DEGREE * windows + WARP_DEGREE - 1 - degrees)
    begins = np.empty(len(numbers), np.bool_, like=numbers)
    begins[:1] = True
    if len(numbers):
        first, last = int(windows.min()), int(windows.max())
        inner = (numbers >= WARP_DEGREE * (first + 1)) & (numbers < WARP_DEGREE * last)
        numbers = np.where(inner, WARP_DEGREE * (first + 1), numbers)
        begins[1:] = numbers[1:] != numbers[:-1]
    return numbers, begins


def _first_rows(numbers: Array, counts: Array, communicator: Communicator) -> Array:
    """The rows of the first vertices of this rank's groups, int64, a NumPy array. Collective.

    A group comes after all groups of smaller numbers, and after those of its own number on lower ranks.
    """
    everywhere = [to_host(part) for part in communicator.gather(numbers)]
    sizes = np.concatenate([to_host(part) for part in communicator.gather(counts)])
    ascending = np.argsort(np.concatenate(everywhere), kind="stable")
    firsts = np.empty(len(sizes), OFFSET)
    firsts[ascending] = np.cumsum(sizes[ascending]) - sizes[ascending]
    before = sum(len(part) for part in everywhere[: communicator.rank])
    return firsts[before : before + len(numbers)]


def cut_over_ranks(rows: Array, degrees: Array, num_vertices: int, communicator: Communicator) -> Cut:
    """Divide the rows of all ranks as `kernels.distributed.partition.cut` does. The call and the result are collective.

    Args:
        rows (index width [n]): Some of the graph's rows, ascending; every row is on exactly one rank.
        degrees (int64 [n]): The numbers of their stored arcs.
    """
    passing = Owners.evenly(num_vertices, communicator)
    own = passing.own
    here, received = passing.send(rows.astype(OFFSET), degrees)
    arcs = np.zeros(len(own) + 1, OFFSET, like=degrees)
    arcs[here + 1] = received
    arcs = np.cumsum(arcs)
    sums = [int(part[0]) for part in communicator.gather(received.sum(keepdims=True))]
    earlier, all_arcs = sum(sums[: communicator.rank]), sum(sums)
    places = np.arange(1, len(own) + 1, dtype=OFFSET, like=degrees)

    def cut(parts: int, per_row: int) -> tuple[Array, Array]:
        costs = arcs[1:] + per_row * places
        total = all_arcs + per_row * num_vertices
        shares = np.array([total * part // parts for part in range(1, parts)], OFFSET) - earlier - per_row * own.start
        stops = communicator.total(np.searchsorted(costs, np.asarray(shares, like=costs)))
        cuts = np.array([0, *stops.tolist(), num_vertices], OFFSET)
        before = arcs[np.asarray(np.clip(cuts - own.start, 0, len(own)), like=arcs)]
        return cuts, to_host(communicator.total(before))

    return cut
