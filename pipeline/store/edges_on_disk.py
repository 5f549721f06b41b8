"""An edge list that is decoded each time that it is needed, for a layout in little memory."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kernels.arrays import ArcMemory
from kernels.cpu.parallel import cores
from kernels.layout.on_gpu.streaming import StreamedEdges
from kernels.layout.rules import Edges, EdgeSource
from pipeline.errors import Changed, Damaged
from pipeline.runtime.backend import Backend
from pipeline.runtime.memory import free_memory, return_unused, share_of_arcs
from pipeline.runtime.threads import map_in_order
from pipeline.store.arrays import SpilledArray
from pipeline.store.digests import Digest
from pipeline.store.edges import EdgeArrays, as_edges, bytes_of, fit, groups_of, largest_of, read_edges, read_group, types_of
from pipeline.store.facts import EdgeFacts
from pipeline.store.manifest import Folder
from pipeline.units import size as size_of

log = logging.getLogger(__name__)


def open_edges(
    edges: Folder, backend: Backend, rank: int = 0, size: int = 1, arcs_in: ArcMemory = "device"
) -> EdgeSource:  # fmt: skip
    """The edges of one of `size` parts: in memory, or on the disk where all of them on a CPU would take too much of it.

    Those of arcs that a GPU has in the host's memory are there, too.

    Raises:
        Damaged: As `pipeline.store.edges.read_edges`.
    """
    facts = EdgeFacts.of(edges)
    if arcs_in == "host":
        return StreamedEdges(as_edges(read_edges(edges, "cpu"), "cpu"))
    if backend == "cpu" and size == 1 and not fit(facts.edges, types_of(facts), backend):
        columns, free = (size_of(count) for count in (bytes_of(facts.edges, types_of(facts)), free_memory()))
        log.info("graph: laid out from the disk, because the edges would take %s, and %s of memory are free", columns, free)
        return EdgesOnDisk(edges)
    return as_edges(read_edges(edges, backend, rank, size), backend)


class SpillFiles:
    """Makes arrays in the file system of a folder: `kernels.layout.spilling.Spill`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def most(self) -> int:
        """Bytes that the arcs of a share, or a table, may take in memory now."""
        return share_of_arcs()

    def array(self, dtype: np.dtype[Any]) -> SpilledArray:
        """A new array."""
        return SpilledArray(self._folder, dtype)


class EdgesOnDisk:
    """An edge list of which memory has a few row groups at a time: each reader decodes it anew, in order, on all cores.

    Compiled loops rely on what an earlier pass has counted, so every pass has to read the same rows as the first one.
    """

    def __init__(self, edges: Folder) -> None:
        self._folder, self._facts = edges, EdgeFacts.of(edges)
        self._types = types_of(self._facts)
        self._seen = dict[tuple[Path, int], str]()  # digests of the row groups that were read once
        self.spill = SpillFiles(edges.path.parent)

    @property
    def count(self) -> int:
        """Number of edges."""
        return self._facts.edges

    @property
    def weight(self) -> np.dtype[Any] | None:
        """The type of the weights in memory; None without any."""
        return self._types.get("weight")

    def span(self) -> range:
        """All ids up to the largest one that the manifest states."""
        return range(max(self._facts.largest.get(name) or 0 for name in ("src", "dst")) + 1 if self.count else 0)

    def blocks(self) -> Iterator[Edges]:
        """The edges, row group by row group.

        Raises:
            Damaged: A file cannot be read, or it contradicts the manifest.
            Changed: A row group is not the one that was read before.
        """
        count = 0
        try:
            groups = groups_of(self._folder)
            for group, (block, digest) in zip(groups, map_in_order(self._read, groups, cores()), strict=True):
                if self._seen.setdefault(group, digest) != digest:
                    raise Changed(group[0], "changed while its edges were read; run again")
                count += block.count
                yield block
        except (OSError, pa.ArrowException, ValueError) as error:
            raise Damaged(f"{self._folder.path}: {error}") from None
        return_unused()
        if count != self.count:
            raise Damaged(f"{self._folder.path}: {count} edges, the manifest says {self.count}")

    def none(self) -> Edges:
        """No edges."""
        return as_edges(EdgeArrays(0, self._types, "cpu").columns(), "cpu")

    def _read(self, group: tuple[Path, int]) -> tuple[Edges, str]:
        """A row group, and the digest of its columns."""
        columns = read_group(self._folder, [*self._types], group)
        table = pa.table(dict(zip(self._types, columns, strict=True)))
        largest, arrays = largest_of(table), EdgeArrays(len(table), self._types, "cpu")
        larger = [name for name, value in largest.items() if value > (self._facts.largest.get(name) or 0)]
        if larger or not arrays.put(0, table, largest):
            raise ValueError(f"{group[0]}: row group {group[1]} has a value that is larger than the manifest says")
        digest, block = Digest(), as_edges(arrays.columns(), "cpu")
        for column in arrays.columns():
            digest.update(b"" if column is None else np.ascontiguousarray(column).view(np.uint8).data)
        return block, digest.hexdigest()
