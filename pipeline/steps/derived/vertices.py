"""Table `vertices`: degrees, component and coordinates of each vertex, in bounded memory."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernels.cpu.parallel import cores, gathered
from kernels.graph import Array
from pipeline.comparison.earlier import EarlierTable
from pipeline.runtime.threads import map_in_order
from pipeline.steps.runtime import Runtime
from pipeline.store.code import Code
from pipeline.store.facts import GraphFacts
from pipeline.store.facts.derived import DerivedFacts
from pipeline.store.manifest import Folder, make
from pipeline.store.names import open_names
from pipeline.store.vertices import open_vertices
from pipeline.tables import files as tables
from pipeline.tables.points import NODES, points, sorted_coordinates
from pipeline.tables.row_lookup import positions_in

STEP = "vertices"  # and the table


def tabulate_vertices(edges: Folder, graph: Folder, components: Folder, runtime: Runtime) -> Folder:
    """Write table `vertices`: the stored graph's vertices with their ids, degrees, components and coordinates.

    Args:
        edges, graph: The edge list, which has ids and coordinates, and the stored graph.
        components: The answer of stage `wcc`, whose rows are those of this table.
        runtime: The folder is `work / "vertices"`.

    Returns:
        The table. Facts: `DerivedFacts`.

    Raises:
        Damaged: A file differs from its manifest.
    """
    code = Code.of_step(STEP, __name__)

    def write(folder: Path) -> dict[str, Any]:
        rows = _VertexRows(edges, graph, components)
        earlier = EarlierTable.of(runtime.work / STEP, STEP, code.version())

        def write_file(number: int) -> None:
            groups = range(tables.ROWS_PER_FILE // tables.ROWS_PER_GROUP)
            first = number * len(groups)
            batches = (rows.batch(number, group) for group in groups if first + group < tables.groups_of(rows.number))
            earlier.write(number, folder / tables.file_name(number), rows.schema, ["vertex"], batches)

        for _ in map_in_order(write_file, range(tables.files_of(rows.number)), cores()):
            pass
        return DerivedFacts(rows=rows.number).stored()

    inputs = {"edges": edges.digest, "graph": graph.digest, "answer": components.digest}
    return make(runtime.work / STEP, STEP, inputs, {}, write, code)


class _VertexRows:
    """The rows of the table, a row group at a time."""

    def __init__(self, edges: Folder, graph: Folder, components: Folder) -> None:
        self.number = GraphFacts.of(graph).vertices
        self._ids, self._rows_by_id, *self._degrees = open_vertices(graph)
        self._components = tables.files(components.path)
        self._coordinates = sorted_coordinates(edges)
        names = open_names(edges)
        self._names = None if names is None else names.array()
        absent = ({"id"} if names is None else set()) | ({"x", "y", "geometry"} if self._coordinates is None else set())
        self._nodes = (
            pq.read_table(edges.path / NODES, page_checksum_verification=True) if NODES in edges.manifest.files else None
        )
        fields = [*tables.schema(STEP, None, without=absent)]
        if self._nodes is not None:
            fields += [field.with_type(_published(field.type)).with_nullable(True) for field in self._nodes.schema.remove(0)]
        self.schema = tables.of_fields(fields)

    def batch(self, file: int, group: int) -> pa.RecordBatch:
        """Row group `group` of a file."""
        first = file * tables.ROWS_PER_FILE + group * tables.ROWS_PER_GROUP
        rows = self._rows_by_id[first : first + tables.ROWS_PER_GROUP]
        vertex = gathered(self._ids, rows)
        with pq.ParquetFile(self._components[file], page_checksum_verification=True) as table:
            component = table.read_row_group(group, ["labels"])["labels"].combine_chunks()
        named = [] if self._names is None else [self._names[first : first + len(vertex)].cast(pa.string())]
        columns = [pa.array(vertex), *named, *(pa.array(gathered(degrees, rows)) for degrees in self._degrees), component]
        if self._coordinates is not None:
            columns += self._places(self._coordinates, vertex)
        if self._nodes is not None:
            positions, known = positions_in(self._nodes["vertex"].to_numpy(), vertex)
            rows = self._nodes.take(pa.array(positions, mask=~known))
            columns += [column.combine_chunks().cast(_published(column.type)) for column in rows.columns[1:]]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    @staticmethod
    def _places(coordinates: pa.Table, vertex: Array) -> list[pa.Array]:
        """Columns `x`, `y` and `geometry` of vertices, null where there are none."""
        at, known = positions_in(coordinates["vertex"].to_numpy(), vertex)
        x, y = (np.where(known, coordinates[name].to_numpy()[at] if len(coordinates) else 0.0, 0.0) for name in ("x", "y"))
        return [pa.array(x, mask=~known), pa.array(y, mask=~known), points(x, y, known)]


def _published(kind: pa.DataType) -> pa.DataType:
    """The type of a column of the table of nodes in this table, whose texts are strings as everywhere."""
    return pa.string() if pa.types.is_large_string(kind) else kind
