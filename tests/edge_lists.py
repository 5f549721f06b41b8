"""Edge-list folders as ingest leaves them, made from edges at hand."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.store.edges import read_edges
from pipeline.store.manifest import Folder, digest_of, make
from tests.graphs import EdgeList


def edge_table(edges: EdgeList, weight: str = "int64") -> pa.Table:
    """Columns of an edge list; a vertex that no edge touches comes as a self-loop, which the layout drops."""
    rows = [*edges.edges, *((vertex, vertex, 1)[: 3 if edges.weighted else 2] for vertex in edges.vertices)]
    types = {"src": "int64", "dst": "int64"} | ({"weight": weight} if edges.weighted else {})
    return pa.table({name: pa.array([row[i] for row in rows], type) for i, (name, type) in enumerate(types.items())})


def edge_folder(work: Path, edges: EdgeList, weight: str = "int64") -> Folder:
    """The step folder `work / "edges"` of an edge list, its weights of an Arrow type."""
    return table_folder(work, edge_table(edges, weight), directed=edges.directed)


def table_folder(work: Path, table: pa.Table, **facts: Any) -> Folder:
    """The step folder `work / "edges"` of a table with the columns `src`, `dst` and maybe `weight`."""
    weight = str(table.schema.field("weight").type) if "weight" in table.column_names else None
    integers = [name for name in table.column_names if pa.types.is_integer(table.schema.field(name).type)]
    stated: Mapping[str, Any] = {
        "format": "parquet", "directed": True, "weight": weight, "edges": len(table), "first_id": None,
        "largest": {name: pc.max(table[name]).as_py() or 0 for name in integers}, "declared_vertices": None,
        "directed_by": "format", "columns": None, "ignored_columns": [],
        "source": {"path": "memory", "bytes": 0, "blake3": ""}, "text_bytes": None, **facts,
    }  # fmt: skip

    def write(folder: Path) -> dict[str, Any]:
        pq.write_table(table, folder / "part-00000.parquet", write_page_checksum=True, row_group_size=7)
        return dict(stated)

    return make(work / "edges", "edges", {"source": digest_of([table.to_pydict(), stated])}, {}, write)


def rows_of_edges(folder: Folder) -> pa.Table:
    """The rows of an edge list, whether it has them or refers to them; weights of the type that its facts state."""
    columns = dict(zip(("src", "dst", "weight"), read_edges(folder), strict=True))
    weight = folder.facts["weight"] or "int64"
    types = {"src": "int64", "dst": "int64", "weight": weight}
    return pa.table({name: pa.array(column).cast(types[name]) for name, column in columns.items() if column is not None})
