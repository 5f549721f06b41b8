"""The rows of all ranks' vertices in the order of `kernels.layout.orders`, and where they are cut."""

from __future__ import annotations

import numpy as np

from kernels.cuda import to_host
from kernels.graph import OFFSET, Array, index_dtype
from kernels.layout.orders import by_degree_in_windows
from kernels.layout.vect_csr import WARP_DEGREE
from kernels.sharded.communicator import Communicator
from kernels.sharded.owners import Owners


def in_order(degrees: Array, owners: Owners, window: int | None) -> tuple[Array, Array]:
    """Order the vertices of all ranks as one worker would.

    Parameters
    ----------
    degrees : int64 [n]
        Out-degrees of this rank's vertices, ascending by external id.
    owners : Owners
        Of the vertices' places in the ascending order of all ids.
    window : int or None
        Of `by_degree_in_windows`; None keeps the order of the ids.

    Returns
    -------
    order : index width of n [n]
        This rank's vertices, from 0, by ascending row.
    rows : index width of the graph [n]
        Their rows.
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
    """Numbers that ascend with the rows, of vertices in their order, and whether a group begins there.

    Vertices with one number stand side by side, rank after rank. Windows that lie within one rank are one group.
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
    """The rows of the first vertices of this rank's groups, int64, a NumPy array.

    They come after all of smaller numbers, and after those of their own number on the ranks before.
    """
    everywhere = [to_host(part) for part in communicator.gather(numbers)]
    sizes = np.concatenate([to_host(part) for part in communicator.gather(counts)])
    ascending = np.argsort(np.concatenate(everywhere), kind="stable")
    firsts = np.empty(len(sizes), OFFSET)
    firsts[ascending] = np.cumsum(sizes[ascending]) - sizes[ascending]
    before = sum(len(part) for part in everywhere[: communicator.rank])
    return firsts[before : before + len(numbers)]


def even_cuts(rows: Array, degrees: Array, num_vertices: int, communicator: Communicator) -> Array:
    """Cut the rows of all ranks into as many ranges of about equally many arcs: `kernels.layout.shards.cut`.

    Parameters
    ----------
    rows : index width [n]
        Some of the graph's rows, ascending; every row is one rank's.
    degrees : int64 [n]
        Their stored arcs.
    num_vertices : int

    Returns
    -------
    int64 [size + 1]
        A NumPy array: rank r gets the rows `bounds[r]:bounds[r + 1]`.
    """
    size = communicator.size
    passing = Owners(np.array([num_vertices * rank // size for rank in range(size + 1)], OFFSET), communicator)
    here, found = passing.tell(rows.astype(OFFSET), degrees)
    up_to = np.zeros(len(passing.own), OFFSET, like=degrees)
    up_to[here] = found
    up_to = np.cumsum(up_to)
    sums = [int(part[0]) for part in communicator.gather(found.sum(keepdims=True))]
    shares = np.array([sum(sums) * number // size for number in range(1, size)], OFFSET) - sum(sums[: communicator.rank])
    stops = communicator.total(np.searchsorted(up_to, np.asarray(shares, like=up_to)))
    return np.array([0, *stops.tolist(), num_vertices], OFFSET)
