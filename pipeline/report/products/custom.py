"""The report's part on a stage that a user wrote: the highest values of each column of numbers, and a map of the first one."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.report.products import EACH_HALF, ProductPart, ReportContext, ValueMap, spread
from pipeline.report.results import MOST, Result, best, highest
from pipeline.report.wording import counted
from pipeline.store.facts.products import CustomFacts
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables


def show(custom: Folder, context: ReportContext) -> ProductPart:
    """The file, how its table was proved, and the vertices of the highest values."""
    facts, table, name = CustomFacts.of(custom), tables.read(custom.path), tables.table_of(custom.manifest.step)
    title = f"{name}, a stage of {Path(facts.program).name}"
    result = Result(title, f"{counted(len(table), 'row')}; {facts.proved}")
    numbers = [column for column, kind in facts.columns.items() if kind not in ("vertex", "bool")]
    for column in numbers:
        finite = table.select(["vertex", column]).filter(pc.is_finite(table[column]))
        if not len(finite):
            continue
        first = highest(finite.to_batches(), column, MOST)
        result.tops.append(best(name, column, first))
        result.figures[f"{name}: highest {column}"] = first[column][0].as_py()
    drawn = [column for column in numbers if pc.all(pc.is_finite(table[column])).as_py() and _least(table[column]) >= 0]
    if not drawn or not len(table):
        return ProductPart(result)
    values = spread(context.vertices, table["vertex"].to_numpy(), table[drawn[0]].cast(pa.float64(), safe=False).to_numpy())
    return ProductPart(
        result, ValueMap(title=f"{name}: {drawn[0]}", sentence=f"{EACH_HALF}.", values=values, unit=f"{name}: {drawn[0]}")
    )


def _least(column: pa.ChunkedArray) -> float:
    least: float | None = pc.min(column).as_py()
    return 0 if least is None else least
