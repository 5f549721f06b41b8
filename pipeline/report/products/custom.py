"""The report's part on a stage that a user wrote: the highest values of each column of numbers, and a map of the first one."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.report.products import EACH_HALF, ProductPart, ReportContext, ValueMap, spread
from pipeline.report.results import FOLDER, MOST, Result, Top, highest
from pipeline.report.wording import counted, number
from pipeline.store.facts.products import CustomFacts
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables


def show(custom: Folder, context: ReportContext) -> ProductPart:
    """The file, how many vertices the other columns name, and the vertices of the highest values."""
    facts, table, name = CustomFacts.of(custom), tables.read(custom.path), tables.table_of(custom.manifest.step)
    title = f"{name}, a stage of {Path(facts.file).name}"
    kinds = {column: facts.columns[column] for column in table.schema.names if column in facts.columns}  # in their order
    result = Result(title, "; ".join([counted(len(table), "row"), *_counts(table, kinds)]))
    numbers = [column for column, kind in kinds.items() if kind not in ("vertex", "bool")]
    for column in numbers:
        finite = table.select(["vertex", column]).filter(pc.is_finite(table[column]))
        if not len(finite):
            continue
        first = highest(finite.to_batches(), column, MOST)
        result.tops.append(_best(name, column, first, len(finite) < len(table)))
        result.figures[f"{name}: highest {column}"] = first[column][0].as_py()
    drawn = [column for column in numbers if pc.all(pc.is_finite(table[column])).as_py() and _least(table[column]) >= 0]
    if not drawn or not len(table):
        return ProductPart(result)
    values = spread(context.vertices, table["vertex"].to_numpy(), table[drawn[0]].cast(pa.float64(), safe=False).to_numpy())
    return ProductPart(
        result, ValueMap(title=f"{name}: {drawn[0]}", sentence=f"{EACH_HALF}.", values=values, unit=f"{name}: {drawn[0]}")
    )


def _counts(table: pa.Table, columns: Mapping[str, str]) -> Iterator[str]:
    """What columns of truth values and of vertices have."""
    for column, kind in columns.items():
        if kind == "bool":
            yield f"{column} is true in {pc.sum(table[column]).as_py() or 0:,}"
        elif kind == "vertex":
            yield f"{column} has {counted(pc.count_distinct(table[column]).as_py(), 'vertex', 'vertices')}"


def _best(table: str, column: str, first: pa.Table, some: bool) -> Top:
    """The vertices of the highest values of a column, of which only `some` are finite; its name may be a word of SQL."""
    finite = f'WHERE isfinite("{column}") ' if some else ""
    frame = f'pandas.read_parquet("{FOLDER}/{table}", columns=["vertex", "{column}"])'
    frame += ".replace([math.inf, -math.inf], math.nan)" if some else ""
    return Top(
        f"Highest {column}",
        ["vertex", column],
        [[str(vertex), number(value)] for vertex, value in zip(*(one.to_pylist() for one in first.columns), strict=True)],
        f'SELECT vertex, "{column}"\nFROM \'{FOLDER}/{table}/*.parquet\'\n{finite}ORDER BY "{column}" DESC, vertex LIMIT {MOST};',
        f'{frame}.nlargest({MOST}, "{column}")',
        ("vertex",),
    )


def _least(column: pa.ChunkedArray) -> float:
    least: float | None = pc.min(column).as_py()
    return 0 if least is None else least
