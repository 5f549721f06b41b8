"""A hierarchy on the disk: the folder of a step, with one `.npy` file per array, opened as read-only memory maps."""

from collections.abc import Iterator

import numpy as np

from kernels.answers import Hierarchy, HierarchyArcs
from kernels.graph import OFFSET, Array, index_dtype
from pipeline.runtime.backend import Backend, bring
from pipeline.store.arrays import load_array
from pipeline.store.hierarchy.facts import HierarchyFacts
from pipeline.store.manifest import Folder

STEP, ORDER = "hierarchy", "hierarchy_order"
_ARRAYS = ("offsets", "others", "weights", "middles", "originals")


def open_hierarchy(folder: Folder, backend: Backend = "cpu") -> Hierarchy:
    """Open a stored hierarchy where `backend` computes. Raises Damaged if an array is not as the manifest says."""
    facts = HierarchyFacts.of(folder)
    row = index_dtype(facts.vertices)

    def arcs(direction: str, count: int) -> HierarchyArcs:
        kinds = OFFSET, row, np.dtype(facts.weights), row, np.dtype(np.int64)
        lengths = facts.vertices + 1, *[count] * 4
        arrays = zip(_ARRAYS, kinds, lengths, strict=True)
        return HierarchyArcs(*(load(f"{direction}-{name}", kind, length) for name, kind, length in arrays))

    def load(name: str, kind: np.dtype[np.generic], length: int) -> Array:
        return bring(load_array(folder.path / f"{name}.npy", kind, length), backend)

    rows, positions = load("rows", row, facts.vertices), load("positions", row, facts.vertices)
    up = arcs("up", facts.up_arcs)
    down = up if facts.down_arcs is None else arcs("down", facts.down_arcs)
    return Hierarchy(rows, positions, load("level_starts", OFFSET, facts.levels + 1), up, down, facts.exact)


def open_order(folder: Folder, backend: Backend = "cpu") -> Array:
    """The positions of a stored order. Raises Damaged as `open_hierarchy`."""
    vertices = HierarchyFacts.of(folder).vertices
    return bring(load_array(folder.path / "positions.npy", index_dtype(vertices), vertices), backend)


def arrays_of(hierarchy: Hierarchy) -> Iterator[tuple[str, Array]]:
    """Every array of a hierarchy, by the name of its file without the suffix."""
    yield from (("rows", hierarchy.rows), ("positions", hierarchy.positions), ("level_starts", hierarchy.level_starts))
    for direction, arcs in (("up", hierarchy.up), *(() if hierarchy.symmetric else (("down", hierarchy.down),))):
        yield from ((f"{direction}-{name}", getattr(arcs, name)) for name in _ARRAYS)
