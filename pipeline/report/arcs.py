"""The report's part on table `arcs`: the heaviest arcs of the vertex that has most."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.report.findings.stages import ReportedGraph
from pipeline.report.results import FOLDER, MOST, Known, Result, Top
from pipeline.report.wording import counted, in_unit, number
from pipeline.store.facts.derived import CheckedFacts
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables


def show(table: Folder, graph: ReportedGraph) -> Result:
    """The number of arcs, and those of one vertex, with the queries that return them."""
    result = Result("Arcs", counted(CheckedFacts.of(table).rows, "arc"))
    degrees = graph.vertices.out_degree
    if len(degrees) and (most := int(np.argmax(degrees))) >= 0 and degrees[most]:
        vertex = int(graph.vertices.ids_at(np.array([most]))[0])
        result.sentence += f"; vertex {graph.text(vertex)} has most, {number(degrees[most])}"
        result.tops.append(_heaviest(table, vertex, graph))
    return result


def _heaviest(table: Folder, vertex: int, graph: ReportedGraph) -> Top:
    name, known = table.manifest.step, Known.by(vertex, graph.names)
    rows = _arcs_of(table, vertex).sort_by([("weight", "descending"), ("dst", "ascending")]).slice(0, MOST).to_pylist()
    named = ", dst_name" if graph.names else ""
    sql = "\n".join((
        f"SELECT dst{named}, weight", f"FROM '{FOLDER}/{name}/*.parquet'",
        f"WHERE src = {known.sql} ORDER BY weight DESC, dst LIMIT {MOST};",
    ))  # fmt: skip
    chosen, frame = known.pandas
    frame += f'arcs = pandas.read_parquet("{FOLDER}/{name}")\narcs[arcs.src.isin({chosen})].nlargest({MOST}, "weight")'
    columns = ["dst", in_unit("weight", graph.measure) if graph.measure else "weight"]
    shown = [[str(row["dst"]), number(row["weight"])] for row in rows]
    return Top(
        f"Heaviest arcs of {graph.text(vertex)}", columns, shown, *(text.replace(FOLDER, known.folder) for text in (sql, frame))
    )


def _arcs_of(table: Folder, vertex: int) -> pa.Table:
    """The arcs that leave a vertex, from the row groups that have some."""
    leaving = []
    for path in tables.files(table.path):
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            for group in range(file.num_row_groups):
                ids = file.metadata.row_group(group).column(0).statistics
                if ids.min <= vertex <= ids.max:
                    rows = file.read_row_group(group, ["src", "dst", "weight"])
                    leaving.append(rows.filter(pc.equal(rows["src"], vertex)))
    return pa.concat_tables(leaving)
