"""New ids that are strings: all names are renumbered in their order, as in a run over the changed source.

The rows of the stored graph keep their order, and former names their order among each other, so arcs and batches of changes stay
as they are. What has numbers of vertices is written again: the ids of the rows in the stored graph, and, beside the edge list of
the source, names, coordinates, streets and the table of nodes.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernels.graph import Array
from kernels.layout.rules import Edges
from pipeline.changes.resolving import Resolved
from pipeline.steps.runtime import Runtime
from pipeline.store.deltas import EDGES, in_turn
from pipeline.store.facts import EdgeFacts
from pipeline.store.manifest import Folder, WrittenStep, make
from pipeline.store.names import BYTES, OFFSETS, NameNumbering, VertexNames, open_names
from pipeline.store.scratch import link_or_copy
from pipeline.tables.definitions import REJECTED
from pipeline.tables.points import COORDINATES, NODES
from pipeline.tables.streets import STREETS, read_streets, write_streets

NEW_NAMES = "new-names.parquet"  # of a changed graph: the names that the state before it did not have, if any


def without_unused(resolved: Resolved, numbering: NameNumbering) -> tuple[Resolved, NameNumbering]:
    """The same without new names that occur only in rows that were left out."""
    unused = np.setdiff1d(numbering.new, resolved.new_ids)
    if not len(unused):
        return resolved, numbering

    def number(numbers: Array) -> Array:
        return numbers - np.searchsorted(unused, numbers)

    def edges(of: Edges) -> Edges:
        return Edges(number(of.src), number(of.dst), of.weights)

    used = NameNumbering.of(numbering.former, numbering.names.array().take(pa.array(resolved.new_ids)))
    resolved = replace(resolved, new_ids=number(resolved.new_ids), removed=edges(resolved.removed), put=edges(resolved.put))
    return resolved, used


def number_names(edges: Folder, graph: Folder, runtime: Runtime, stays: Folder) -> Folder:
    """The step of new names: the names of the edge list and of a changed graph, and all files that contain their numbers.

    Args:
        edges: Of the state before. Of its files only those that have names or their numbers are in the new folder.
        graph: The changed graph.
        stays: The edge list of the newest run, which is `edges` or that of an earlier state: another folder is written.

    Raises:
        ProofFailed: The new numbers are not those of the names.
    """

    def write(folder: Path) -> dict[str, Any]:
        former = open_names(edges)
        assert former is not None
        numbering = NameNumbering.of(former, pq.read_table(graph.path / NEW_NAMES)["id"].combine_chunks())
        numbering.names.save(folder)
        for name in (COORDINATES, NODES):
            if name in edges.manifest.files:
                table = pq.read_table(edges.path / name, page_checksum_verification=True)
                numbers = pa.array(numbering.numbers(table["vertex"].to_numpy()))
                table = table.set_column(table.schema.get_field_index("vertex"), table.schema.field("vertex"), numbers)
                pq.write_table(table, folder / name, compression="zstd", write_page_checksum=True)
        if STREETS in edges.manifest.files:
            streets = read_streets(edges)
            for end in ("src", "dst"):
                numbers = pa.array(numbering.numbers(streets[end].to_numpy()))
                streets = streets.set_column(streets.schema.get_field_index(end), streets.schema.field(end), numbers)
            write_streets(folder / STREETS, streets.schema, [streets])
        if REJECTED in edges.manifest.files:
            link_or_copy(edges.path / REJECTED, folder / REJECTED)
        names = VertexNames(*(np.load(folder / name, mmap_mode="r") for name in (OFFSETS, BYTES)))
        replace(numbering, names=names).require_right()
        counts = {"declared_vertices": len(names), "name_bytes": len(names.content)}
        return EdgeFacts.of(edges).model_copy(update=counts).stored()

    path = runtime.work / in_turn(stays, EDGES)
    return make(path, "edges", {"edges": edges.digest, "graph": graph.digest}, {}, write)


def settle(edges: Folder, work: Path, published: Folder) -> Folder:
    """The step folder, next to the edge list of the newest run, with the files that `number_names` has written elsewhere."""

    def write(folder: Path) -> WrittenStep:
        for name in edges.manifest.files:
            link_or_copy(edges.path / name, folder / name)
        return WrittenStep(edges.facts, {}, edges.manifest.files)

    return make(work / in_turn(published, EDGES), "edges", edges.manifest.inputs, edges.manifest.parameters, write)
