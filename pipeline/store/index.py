"""The reachability index on the disk, from which queries are answered: the folder of a step, and next to the tables of a run.

Every array is a `.npy` file, opened as a read-only memory map. The folder also has the external ids, so queries need no graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from kernels.answers import Condensation, Labels, ReachabilityIndex
from kernels.derived import Derived
from kernels.graph import ID, OFFSET, Array, Csr, index_dtype
from kernels.reachability import NUM_SUPPORTS, memory
from pipeline.errors import BadConfig, Damaged
from pipeline.runtime.backend import Backend, bring
from pipeline.runtime.memory import require_memory
from pipeline.store import manifest
from pipeline.store.arrays import load_array
from pipeline.store.facts import IndexFacts
from pipeline.store.manifest import Folder

STEP = "reachability_index"
FORMAT = 1  # of the folder: its arrays and what they mean; an index of another format cannot be read
CSRS = ("children", "parents")
LEVELS, NUMBERS, BITS = ("level", "height"), ("low", "post", "first", "last"), ("reaches", "reached")


@dataclass(frozen=True)
class StoredIndex:
    """An index, and the external ids of its rows as `Graph` has them."""

    ids: Array
    rows_by_id: Array
    index: ReachabilityIndex
    derived: Derived = field(default_factory=Derived, init=False, compare=False, repr=False)

    @property
    def num_vertices(self) -> int:
        """Number of vertices, isolated ones included."""
        return len(self.ids)


def open_index(folder: Folder, backend: Backend = "cpu") -> StoredIndex:
    """Open a stored index: on the CPU its arrays are the memory maps themselves.

    Raises
    ------
    Damaged
        A file is missing, or has another type or length than the manifest states.
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


def index_of(answer: Folder) -> Folder:
    """The index next to a table of stage `reachability`. Raises Damaged unless the table was made from it."""
    folder = manifest.read(answer.path.with_name(STEP))
    if folder.digest != answer.manifest.inputs["index"]:
        raise Damaged(f"{folder.path}: is not the index that {answer.path} was made from")
    return replace(folder, reused=answer.reused)


def find_index(path: Path) -> Folder:
    """Find the index of a published run, of the latest run in an output folder, or in folder `path`, and check its files.

    Raises
    ------
    BadConfig
        There is none, or it has another format.
    Damaged
        A file differs from the manifest, or the index is not the one that the run was published with.
    """
    latest = path / "latest"
    place = (latest if latest.is_symlink() else path).resolve()  # `latest` may move on meanwhile
    if not place.is_dir():
        raise BadConfig(f"{path}: no such folder of a run or an index")
    folder = manifest.read(place)
    if folder.manifest.step == "run":
        folder = _index_of_run(folder)
    if folder.manifest.step != STEP:
        raise BadConfig(f"{path}: is not a reachability index, but the folder of step {folder.manifest.step}")
    if folder.facts.get("format") != FORMAT:
        found = folder.facts.get("format")
        raise BadConfig(f"{path}: the index has format {found}, this version reads {FORMAT}; run stage reachability again")
    manifest.check(folder)
    return folder


def _index_of_run(run: Folder) -> Folder:
    """The index of a run. Raises BadConfig if it has none, Damaged if it is not the one that was published."""
    if f"{STEP}/{manifest.FILE}" not in run.manifest.files:
        raise BadConfig(f"{run.path}: this run has no index; run stage reachability")
    path = run.path / STEP
    if not (path / manifest.FILE).is_file():
        raise Damaged(f"{path / manifest.FILE}: missing")
    if manifest.sha256_of(path / manifest.FILE) != run.manifest.files[f"{STEP}/{manifest.FILE}"].sha256:
        raise Damaged(f"{path}: is not the index that {run.path} was published with")
    return manifest.read(path)


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
