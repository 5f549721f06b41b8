"""Changes of pairs of rows: each pair has one arc afterwards, or none, whatever it had before."""

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.graph import Array, Csr
from kernels.layout.merging import DELETE, KIND, Changes, Places, backend_of, find_places, moved
from kernels.records import dataclass


@dataclass(frozen=True)
class PairChanges:
    """What becomes of the arc of some pairs of rows, each pair once, ascending by row, then by the neighbour's position."""

    rows: Array  # index width [C]
    indices: Array  # index width [C]: the neighbours
    puts: Array  # bool [C]: whether the pair has an arc afterwards
    weights: Array | None  # [C], of the stored arcs' type: of arcs that are put

    def within(self, rows: range) -> "PairChanges":
        """Those of a range of rows, which is then numbered from 0."""
        first, last = np.searchsorted(self.rows, np.array([rows.start, rows.stop], self.rows.dtype, like=self.rows)).tolist()
        part = slice(first, last)
        weights = None if self.weights is None else self.weights[part]
        return PairChanges(self.rows[part] - self.rows.dtype.type(rows.start), self.indices[part], self.puts[part], weights)


def newest(changes: PairChanges, positions: Array) -> PairChanges:
    """Sort changes that are in the order of their age, and keep the last one of each pair of rows.

    Args:
        positions (index width [V]): Of all rows in the ascending order of external ids.
    """
    columns = changes.rows, changes.indices, changes.puts, changes.weights
    return PairChanges(*backend_of(changes.rows).newest(*columns, positions)) if len(changes.rows) else changes


def find(csr: Csr, rows: Array, indices: Array, positions: Array) -> Places:
    """Where the arcs of pairs of rows are, or would be, and whether they are stored; as `kernels.layout.merging.find_places`."""
    kinds = np.full_like(rows, DELETE, KIND)
    return find_places(csr, Changes(rows, indices, kinds, None, rows), positions)


def merge_pairs(csr: Csr, changes: PairChanges, positions: Array, num_rows: int) -> Csr:
    """The rows of `csr`, and rows without arcs after them up to `num_rows`, after changes of these rows.

    Args:
        positions (index width [V]): Of all rows of the graph in the ascending order of external ids.
    """
    columns = changes.rows, changes.indices, changes.puts, changes.weights
    arcs, places, before = backend_of(csr.offsets).effective(csr, *columns, positions)
    return moved(csr, arcs, places, before, num_rows)


def repeated(src: Array, dst: Array, both: bool) -> Array:
    """Which pairs of numbers from 0 are those of an earlier place, bool [C]; with `both` a pair is also its reverse."""
    low, high = (np.minimum(src, dst), np.maximum(src, dst)) if both else (src, dst)
    most = 1 + int(max(low.max(), high.max())) if len(src) else 1
    places, keys = _sorted(low.astype(np.int64) * most + high, most)
    repeats = np.zeros_like(keys, np.bool_)
    repeats[places[1:][keys[1:] == keys[:-1]]] = True
    return repeats


def sorted_pairs(src: Array, dst: Array, numbers: int) -> Array:
    """The places of pairs of int64 numbers below `numbers` in ascending order, equal ones as they are: integer [C]."""
    return _sorted(src * numbers + dst, numbers)[0]


def _sorted(keys: Array, rows: int) -> tuple[Array, Array]:
    """A stable sort of keys below `rows` squared: their places before, and the keys in order."""
    if is_cupy_array(keys):
        from kernels.gpu.radix_sort import sort

        bits = max(rows * rows - 1, 1).bit_length()
        number = np.uint32 if len(keys) < 1 << 32 else np.int64
        ordered, order = sort(keys.view(np.uint64), np.arange(len(keys), dtype=number, like=keys), 0, bits)
        assert order is not None
        return order, ordered
    order = np.argsort(keys, kind="stable")
    return order, keys[order]
