"""The graph of the arcs in slotted pages, in sorted rows, for kernels that need them."""

import numpy as np

from kernels.graph import Csr, Graph
from kernels.layout.sorting import in_rows
from kernels.library.dynamic.arrays import HALF, keys_of, owners_of, sorted_keys
from kernels.library.dynamic.structures.pages import SlottedPages


def sorted_graph(graph: SlottedPages) -> Graph:
    """The graph of the arcs between vertices, in sorted rows.

    Raises:
        ValueError: A weight is negative or not a number.
    """
    existing = graph.exists()
    csr, rows = graph.csr(), np.arange(graph.num_rows, dtype=np.int64, like=existing)
    assert csr.weights is not None
    if not bool((csr.weights >= 0).all()):
        raise ValueError("sssp: a weight is negative or not a number")
    leads = np.flatnonzero(existing[csr.indices])
    keys, order = sorted_keys(keys_of(owners_of(csr.offsets)[leads], csr.indices[leads]))
    offsets = np.searchsorted(keys, np.arange(graph.num_rows + 1, dtype=np.int64, like=keys) << HALF)
    out = Csr(offsets, (keys & np.int64(2**32 - 1)).astype(np.int32), csr.weights[leads][order])
    return Graph(rows, rows.astype(np.int32), out, in_rows(out), directed=True)
