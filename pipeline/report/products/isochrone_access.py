"""The report's part on table `isochrone_access`."""

import numpy as np
import pyarrow.compute as pc

from pipeline.report.products import EACH_HALF, ProductPart, ReportContext, ValueMap, spread, top
from pipeline.report.results import FOLDER, MOST, Result
from pipeline.report.wording import number, with_unit
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables


def show(product: Folder, context: ReportContext) -> ProductPart:
    """The vertices with most access within the largest threshold, and a map of it."""
    table, step = tables.read(product.path), product.manifest.step
    if not len(table):
        return ProductPart(Result(context.title, "no vertex"))
    unit, largest = tables.units_of(table.schema)["access"], pc.max(table["threshold"]).as_py()
    last = table.filter(pc.equal(table["threshold"], largest))
    order = f"WHERE threshold = {largest} ORDER BY access DESC, vertex LIMIT {MOST}"
    sql = f"SELECT vertex, access\nFROM '{FOLDER}/{step}/*.parquet' {order};"
    within = f"within {with_unit(largest, context.unit)}"
    tops = [top(f"Most access {within}", ("vertex", "access"), last.select(["vertex", "access"]), sql)]
    access = last["access"].to_numpy()
    without = int(np.count_nonzero(access == 0))
    sentence = f"{unit}; {number(without)} of {number(len(access))} vertices have none {within}"
    drawn = ValueMap(
        title=f"Access {within}",
        sentence=f"{EACH_HALF}.",
        unit=unit,
        values=spread(context.vertices, last["vertex"].to_numpy(), access),
    )
    return ProductPart(Result(context.title, sentence, tops, {}), drawn)
