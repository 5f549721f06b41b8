"""The reachability index on the disk, from which queries are answered: the folder of a step, and next to the tables of a run.

Every array is a `.npy` file, opened as a read-only memory map. The folder also has the external ids, so queries need no graph.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernels.answers import Condensation, Labels, ReachabilityIndex
from kernels.derived import Derived
from kernels.graph import ID, OFFSET, Array, Csr, index_dtype
from kernels.reachability import NUM_SUPPORTS, memory
from pipeline.runtime.backend import Backend, bring
from pipeline.runtime.memory import require_memory
from pipeline.store.arrays import load_array
from pipeline.store.facts import IndexFacts
from pipeline.store.manifest import Folder

CSRS = ("children", "parents")
LEVELS, NUMBERS, BITS = ("level", "height"), ("low", "post", "first", "last"), ("reaches", "reached")


@dataclass(frozen=True)
class StoredIndex:
    """An index, and the external ids of its rows as `Graph` has them."""

    ids: Array
    rows_by_id: Array
    index: ReachabilityIndex
    numbering: Derived = field(default_factory=Derived, init=False, compare=False, repr=False)

    @property
    def num_vertices(self) -> int:
        """Number of vertices, isolated ones included."""
        return len(self.ids)


def open_index(folder: Folder, backend: Backend = "cpu") -> StoredIndex:
    """Open a stored index: on the CPU its arrays are the memory maps themselves.

    Raises:
        Damaged: A file is missing, or has another type or length than the manifest states.
    """
    facts = IndexFacts.of(folder)
    vertices, nodes = facts.vertices, facts.components
    row, level, bits = index_dtype(vertices), np.dtype(np.int32), np.dtype(np.uint64)

    def load(name: str, dtype: np.dtype[Any], *shape: int) -> Array:
        return bring(load_array(folder.path / f"{name}.npy", dtype, *shape), backend)

    def csr(name: str) -> Csr:
        return Csr(load(f"{name}-offsets", OFFSET, nodes + 1), load(f"{name}-indices", row, facts.arcs), None)

    labels = Labels(
        facts.method,
        facts.seed,
        **{name: load(name, level, nodes) for name in LEVELS},
        **{name: load(name, row, facts.dimensions, nodes) for name in NUMBERS},
        supports=load("supports", row, NUM_SUPPORTS),
        **{name: load(name, bits, nodes) for name in BITS},
        compared_paths=tuple(facts.compared_paths),
    )
    condensation = Condensation(load("node", row, vertices), load("names", row, nodes), *map(csr, CSRS))
    return StoredIndex(load("ids", ID, vertices), load("rows_by_id", row, vertices), ReachabilityIndex(condensation, labels))


def place_index(folder: Folder, backend: Backend) -> StoredIndex:
    """Open a stored index for queries. Raises TooLarge if there may not be enough memory, and as `open_index`."""
    facts = IndexFacts.of(folder)
    needed = memory(facts.components, facts.arcs, facts.dimensions, facts.method, gpu=backend == "gpu").queries
    require_memory(f"reach: the index of {facts.vertices:,} vertices", needed, backend)
    return open_index(folder, backend)


def arrays_of(index: ReachabilityIndex) -> Iterator[tuple[str, Array]]:
    """Every array of an index, by the name of its file without the suffix; the folder has `ids` and `rows_by_id`, too."""
    yield "node", index.condensation.node
    yield "names", index.condensation.names
    for name in CSRS:
        csr: Csr = getattr(index.condensation, name)
        yield f"{name}-offsets", csr.offsets
        yield f"{name}-indices", csr.indices
    for name in (*LEVELS, *NUMBERS, "supports", *BITS):
        yield name, getattr(index.labels, name)
