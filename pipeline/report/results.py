"""The results at the top of a report: first rows of each answer, the queries for them, and figures to compare."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from kernels.graph import Array
from pipeline.report.aggregates import first_rows, of_parts
from pipeline.report.reading import Coordinates, VertexColumns
from pipeline.report.wording import in_unit, number
from pipeline.store.names import VertexNames

MOST = 10  # rows
IDS = ("vertex", "labels", "src", "dst", "source", "facility")  # columns of external ids
_NAMES = {"vertex": "id"}  # the columns of their names, where these are not called X_name
OF_SEVERAL = 5  # rows, if a stage has several lists
# In a query: the folder of the tables, by the link that will name the next run, too, or this run's own; see `wording.located`.
FOLDER, OWN = "{folder}", "{own}"
Figures = dict[str, int | float]


@dataclass(frozen=True)
class Top:
    """The first rows of an answer in a stated order, as text, and the same query in SQL and for pandas."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    sql: str
    pandas: str
    ids: Sequence[str] = IDS  # which columns have external ids


@dataclass(frozen=True)
class Known:
    """A vertex in a query: by its id, which it has in every run; the number of an id that is a string changes with others."""

    vertex: int
    id: str | None = None  # of a graph whose ids are strings
    folder: str = FOLDER  # of the tables

    @classmethod
    def by(cls, vertex: int, names: VertexNames | None) -> "Known":
        """By its number where ids are integers, or in the run's own folder where the id is long or not printable."""
        if names is None:
            return cls(vertex)
        name = names.exact(vertex)
        return cls(vertex, folder=OWN) if name is None or "{" in name or "<!--" in name else cls(vertex, name)

    @property
    def sql(self) -> str:
        """Its number, in SQL."""
        if self.id is None:
            return str(self.vertex)
        quoted = self.id.replace("'", "''")
        return " ".join(("(SELECT vertex", f"FROM '{FOLDER}/vertices/*.parquet' WHERE id = '{quoted}')"))

    @property
    def pandas(self) -> tuple[str, str]:
        """Its number for `isin` of pandas, and the line before that it takes."""
        if self.id is None:
            return f"[{self.vertex}]", ""
        line = f'vertices = pandas.read_parquet("{FOLDER}/vertices", columns=["vertex", "id"])\n'
        return f"vertices.vertex[vertices.id == {self.id!r}]", line


@dataclass
class Result:
    """The results of one table: a sentence, lists of rows, and figures by name, which are compared with those of the last run."""

    title: str
    sentence: str = ""
    tops: list[Top] = field(default_factory=list)
    figures: Figures = field(default_factory=dict)


def highest(batches: Sequence[pa.RecordBatch], name: str, most: int) -> pa.Table:
    """The `most` rows of the highest values of a column, then of the smallest vertex; nulls are left out."""
    order = [(name, "descending"), ("vertex", "ascending")]
    best = of_parts(lambda batch: first_rows(batch, order, most), batches)
    return pa.Table.from_batches(best).sort_by(order).drop_null().slice(0, most)


def farthest(
    stage: tuple[str, str],
    source: Known,
    distance: pa.ChunkedArray,
    vertices: VertexColumns,
    several: bool,
    coordinates: Coordinates | None,
) -> Top:
    """The vertices farthest from a source; `stage` is its table and the unit of its distances, `distance` is [V]."""
    (table, unit), most = stage, OF_SEVERAL if several else MOST
    ends = np.cumsum([0, *map(len, distance.chunks)])
    order = [("distance", "descending"), ("vertex", "ascending")]  # by positions, as ids ascend

    def of_chunk(part: tuple[int, pa.Array]) -> pa.RecordBatch:
        begin, chunk = part
        positions = np.arange(begin, begin + len(chunk))
        return first_rows(pa.record_batch({"vertex": positions, "distance": chunk}), order, most)

    farthest = pa.Table.from_batches(of_parts(of_chunk, [*zip(ends, distance.chunks, strict=False)]))
    first = farthest.sort_by(order).drop_null().slice(0, most)
    ids = vertices.ids_at(first["vertex"].to_numpy()).tolist()
    rows = [[str(vertex), number(value)] for vertex, value in zip(ids, first["distance"].to_pylist(), strict=True)]
    columns = ["vertex", in_unit("distance", unit)]
    select, join = "vertex, distance", ""
    chosen, frame = source.pandas
    frame += f'paths = pandas.read_parquet("{FOLDER}/{table}", dtype_backend="pyarrow")\n'
    frame += f'paths[paths.source.isin({chosen})].sort_values(["distance", "vertex"], ascending=[False, True]).head({most})'
    if coordinates:
        columns += ["x", "y"]
        rows = [[*row, *coordinates.texts(int(row[0]))] for row in rows]
        select, join = "vertex, distance, x, y", f"LEFT JOIN '{FOLDER}/coordinates/*.parquet' USING (vertex) "
    wanted = f"{join}WHERE source = {source.sql} AND distance IS NOT NULL"
    sql = _sql(select, table, f"{wanted} ORDER BY distance DESC, vertex LIMIT {most}")
    located = (query.replace(FOLDER, source.folder) for query in (sql, frame))
    return Top(f"Farthest from {source.id or source.vertex}", columns, rows, *located)


def largest(table: str, labels: Array, sizes: Array, total: int, plural: str) -> Top:
    """The largest components, which are called `plural`, by their labels [n] and sizes [n] of `total` vertices; labels ascend."""
    kth = np.partition(sizes, -MOST)[-MOST] if len(sizes) > MOST else 0
    chosen = np.concatenate([np.flatnonzero(sizes > kth), np.flatnonzero(sizes == kth)[:MOST]])
    chosen = chosen[np.lexsort((labels[chosen], -sizes[chosen]))][:MOST]
    pairs = zip(labels[chosen].tolist(), sizes[chosen].tolist(), strict=True)
    return Top(
        f"Largest {plural}",
        ["labels", "vertices", "share"],
        [[str(label), number(size), f"{size / total:.2%}"] for label, size in pairs],
        _sql("labels, count(*) AS vertices", table, f"GROUP BY labels ORDER BY vertices DESC, labels LIMIT {MOST}"),
        f'pandas.read_parquet("{FOLDER}/{table}").groupby("labels").size().nlargest({MOST})',
    )


def best(table: str, name: str, first: pa.Table) -> Top:
    """The vertices of the highest values of column `name`, as `highest` gives them."""
    rows = [[str(row["vertex"]), number(row[name])] for row in first.to_pylist()]
    return Top(
        f"Highest {name}",
        ["vertex", name],
        rows,
        _sql(f"vertex, {name}", table, f"ORDER BY {name} DESC, vertex LIMIT {MOST}"),
        f'pandas.read_parquet("{FOLDER}/{table}", columns=["vertex", "{name}"]).nlargest({MOST}, "{name}")',
    )


def best_of_seed(table: str, name: str, first: pa.Table, seed: Known, shown: str) -> Top:
    """As `best`, of one of the seeds of a table, whose text is `shown`."""
    chosen, frame = seed.pandas
    frame += f'ranked = pandas.read_parquet("{FOLDER}/{table}", columns=["seed", "vertex", "{name}"])\n'
    frame += f'ranked[ranked.seed.isin({chosen})].nlargest({OF_SEVERAL}, "{name}")'
    order = f"ORDER BY {name} DESC, vertex LIMIT {OF_SEVERAL}"
    sql = _sql(f"vertex, {name}", table, f"WHERE seed = {seed.sql} {order}")
    rows = [[str(row["vertex"]), number(row[name])] for row in first.to_pylist()]
    located = (query.replace(FOLDER, seed.folder) for query in (sql, frame))
    return Top(f"Highest {name} of seed {shown}", ["vertex", name], rows, *located)


def most_reached(table: str, first: pa.Table) -> Top:
    """The vertices that reach the most others, as `highest` gives them."""
    return Top(
        "Vertices that reach most",
        ["vertex", "reached"],
        [[str(row["vertex"]), number(row["reached"])] for row in first.to_pylist()],
        _sql("vertex, count(*) AS reached", table, f"GROUP BY vertex ORDER BY reached DESC, vertex LIMIT {MOST}"),
        f'pandas.read_parquet("{FOLDER}/{table}").groupby("vertex").size().nlargest({MOST})',
    )


def heaviest(table: str, forest: pa.Table) -> Top:
    """The heaviest edges of a forest, whose rows are sorted by `src`, `dst`."""
    frame = f'pandas.read_parquet("{FOLDER}/{table}").weight.sum()  # the total weight'
    return _first_edges("Heaviest edges", table, highest_edges(forest, "weight"), frame)


def busiest(table: str, first: pa.Table) -> Top:
    """The edges of the highest values of a column, as `highest_edges` gives them."""
    name = first.column_names[-1]
    return _first_edges(f"Highest {name}", table, first, f'pandas.read_parquet("{FOLDER}/{table}").nlargest({MOST}, "{name}")')


def highest_edges(edges: pa.Table, name: str) -> pa.Table:
    """The MOST rows of the highest values of a column, then of the smallest `src`, `dst`."""
    order = [(name, "descending"), ("src", "ascending"), ("dst", "ascending")]
    parts = edges.select(["src", "dst", name]).to_batches()
    chosen = of_parts(lambda batch: first_rows(batch, order, MOST), parts)
    return pa.Table.from_batches(chosen, edges.select(["src", "dst", name]).schema).sort_by(order).slice(0, MOST)


def _first_edges(title: str, table: str, first: pa.Table, frame: str) -> Top:
    name = first.column_names[-1]
    return Top(
        title,
        ["src", "dst", name],
        [[str(row["src"]), str(row["dst"]), number(row[name])] for row in first.to_pylist()],
        _sql(f"src, dst, {name}", table, f"ORDER BY {name} DESC, src, dst LIMIT {MOST}"),
        frame,
    )


def first_pairs(rows: Sequence[dict[str, Any]]) -> Top:
    """The first pairs that a run was asked about, rows of table `reached`."""
    words = {True: "yes", False: "no", None: "unknown vertex"}
    return Top(
        "First pairs",
        ["src", "dst", "reachable", "decided"],
        [[str(row["src"]), str(row["dst"]), words[row["reachable"]], row["decided"] or ""] for row in rows],
        _sql("src, dst, reachable, decided", "reached", f"LIMIT {MOST}"),
        f'pandas.read_parquet("{FOLDER}/reached").groupby(["reachable", "decided"]).size()  # all, counted',
    )


def first_flows(table: str, rows: Sequence[dict[str, Any]]) -> Top:
    """The first pairs of table `max_flow`, with the size of their cuts."""
    return Top(
        "First pairs",
        ["src", "dst", "flow", "arcs of the cut", "vertices"],
        [[str(row["src"]), str(row["dst"]), *map(number, (row["flow"], len(row["cut_src"]), row["vertices"]))] for row in rows],
        _sql("src, dst, flow, len(cut_src) AS arcs, vertices", table, f"ORDER BY query LIMIT {MOST}"),
        f'pandas.read_parquet("{FOLDER}/{table}").explode(["cut_src", "cut_dst"])  # a row for each arc of the cuts',
    )


def with_names(top: Top, name: Callable[[int], str]) -> Top:
    """Add the ids of vertices in the source, if these are strings, to the rows and to the queries of lists of vertices."""
    columns: list[str] = []
    rows: list[list[str]] = [[] for _ in top.rows]
    for position, column in enumerate(top.columns):
        named = _NAMES.get(column, f"{column}_name") if column in top.ids else None
        columns += [column, named] if named else [column]
        for row, old in zip(rows, top.rows, strict=True):
            cell = old[position]
            row.extend([cell, name(int(cell)) if cell.isdigit() else ""] if named else [cell])
    return replace(top, columns=columns, rows=rows, sql=_named_sql(top), pandas=_named_frame(top))


def _named_sql(top: Top) -> str:
    """The query with the name of each id beside it."""
    select, _, rest = top.sql.partition("\n")
    for column in (column for column in top.columns if column in top.ids and f"{column}_name" not in top.sql):
        looked_up = " ".join(("(SELECT id", f"FROM '{_folder(top)}/vertices/*.parquet' WHERE vertex = t.{column})"))
        select = re.sub(
            rf"(SELECT |, ){column}\b", rf"\g<0>, {looked_up} AS {_NAMES.get(column, f'{column}_name')}", select, count=1
        )
    return f"{select}\n" + rest.replace(".parquet'", ".parquet' AS t", 1 if "= t." in select else 0)


def _named_frame(top: Top) -> str:
    """The query for pandas with the name of the first id, if it gives the rows of a list whose table may have no names."""
    first, sized = top.columns[0], ".size()" in top.pandas
    if not (sized or ".nlargest(" in top.pandas or ".head(" in top.pandas) or f"{first}_name" in top.sql or "  # " in top.pandas:
        return top.pandas
    ids = f'pandas.read_parquet("{_folder(top)}/vertices", columns=["vertex", "id"])'
    if first != "vertex":
        ids += f'.rename(columns={{"vertex": "{first}", "id": "{first}_name"}})'
    return f"{top.pandas}{'.reset_index()' if sized else ''}.merge({ids})"


def _folder(top: Top) -> str:
    """The folder that the query reads."""
    return OWN if OWN in top.sql else FOLDER


def _sql(select: str, table: str, rest: str) -> str:
    return "\n".join((f"SELECT {select}", f"FROM '{FOLDER}/{table}/*.parquet'", f"{rest};"))
