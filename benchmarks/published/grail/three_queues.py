"""The search engine of a thesis (three_queues.cu): every level sorts its rows into three queues, by their numbers of arcs."""

from collections.abc import Iterator
from typing import Any

import cupy
import numpy as np

from benchmarks.published import SOURCES
from kernels.gpu.loader import launch
from kernels.graph import OFFSET, Array, Csr

THREADS, BLOCKS, BIN = 256, 256, 512  # of a block; of a launch; rows of a bin of a thread
LANES = (1, 32, THREADS)  # threads for a row of each queue


class Engine:
    """Rows of a CSR whose words in `status` [V] are not 0, level by level.

    Raises:
        ValueError: There are more rows than all bins hold, 2^25.
    """

    def __init__(self, csr: Csr, status: type[np.integer[Any]]) -> None:
        self._csr, self._status = csr, np.dtype(status)
        self.num_rows = len(csr.offsets) - 1
        if self.num_rows > THREADS * BLOCKS * BIN:
            raise ValueError(f"the bins hold {THREADS * BLOCKS * BIN} rows: this graph has {self.num_rows}")
        self.status, self.waiting = (cupy.zeros(self.num_rows, status) for _ in range(2))
        self.alive = cupy.full(1, -1, status)  # bits of `status` that count
        self._blocks = max(1, min(BLOCKS, -(-self.num_rows // THREADS)))
        bins = len(LANES) * self._blocks * THREADS
        self._capacity = -(-self.num_rows // (self._blocks * THREADS))
        self._bins = cupy.empty(bins * self._capacity, csr.indices.dtype)
        self._lengths, self.queue = cupy.empty(bins, OFFSET), cupy.empty(self.num_rows, csr.indices.dtype)

    def levels(self) -> Iterator[tuple[Array, Array, Array]]:
        """The three queues of each level, until all are empty; `waiting` has the words of their rows, and `status` is 0."""
        while True:
            self._run("fill_bins", self._csr.offsets, np.int64(self.num_rows), self.alive, self.status, self.waiting,
                      np.int64(self._capacity), self._bins, self._lengths)  # fmt: skip
            ends = cupy.cumsum(self._lengths)
            bins = self._lengths, ends, np.int64(self._capacity), self._bins, np.int64(len(ends))
            self._run("copy_bins", *bins, self.queue)
            small, medium, large = (int(end) for end in ends[len(ends) // 3 - 1 :: len(ends) // 3].get())
            if not large:
                return
            yield self.queue[:small], self.queue[small:medium], self.queue[medium:large]

    def expand(self, name: str, queues: tuple[Array, Array, Array], *arguments: Any) -> None:
        """Run kernel `name` on each queue that has rows, with as many threads for a row as the queue is for."""
        for lanes, queue in zip(LANES, queues, strict=True):
            if len(queue):
                rows = self._csr.offsets, self._csr.indices, queue, np.int64(len(queue))
                self._run(name, *rows, *arguments, blocks=-(-len(queue) * lanes // THREADS), lanes=lanes)

    def run(self, name: str, *arguments: Any) -> None:
        """Run another kernel of the source."""
        self._run(name, *arguments)

    def _run(self, name: str, *arguments: Any, blocks: int = 0, lanes: int = 1) -> None:
        types: dict[str, Any] = {"ROW": self._csr.indices.dtype, "STATUS": self._status}
        sizes = {"THREADS": THREADS, "LANES": lanes}
        blocks = min(blocks or self._blocks, BLOCKS * LANES[1])
        launch(f"{SOURCES}grail/three_queues.cu", name, THREADS, None, *arguments, blocks=blocks, plain=True, **types, **sizes)


def levels(csr: Csr, source: int) -> Array:
    """Hops from a row, of the rows' type [V]; -1 where it does not lead."""
    engine = Engine(csr, np.int32)
    found: Array = cupy.full(engine.num_rows, -1, csr.indices.dtype)
    found[source], engine.status[source] = 0, 1
    for level, queues in enumerate(engine.levels(), 1):
        engine.expand("expand_levels", queues, np.int64(level), engine.status, found)
    return found
