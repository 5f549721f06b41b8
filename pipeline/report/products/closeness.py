"""The report's part on table `closeness`."""

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.report.products import EACH_HALF, ProductPart, ReportContext, ValueMap, share, spread, top, who_of
from pipeline.report.results import FOLDER, MOST, Result
from pipeline.report.wording import in_unit, number, with_unit
from pipeline.store.facts.products import ProductFacts
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables


def show(product: Folder, context: ReportContext) -> ProductPart:
    """The vertices that are closest to all others, the diameter, and mean distances."""
    table, of, unit = tables.read(product.path), ProductFacts.of(product).figures, context.unit
    if not len(table):
        return ProductPart(Result(context.title, "no vertex"))
    who = who_of(table, "vertex")
    order = f"ORDER BY closeness DESC, {', '.join(who[:2])} LIMIT {MOST}"
    sql = f"SELECT {', '.join(who)}, closeness, eccentricity\nFROM '{FOLDER}/closeness/*.parquet' {order};"
    columns = (*who, "closeness", in_unit("eccentricity", unit))
    tops = [top("Highest closeness", columns, table.select([*who, "closeness", "eccentricity"]), sql, by=len(who))]
    extent = f"diameter {number(of['diameter'])}, radius {with_unit(of['radius'], unit)}"
    others = pc.cast(pc.max_element_wise(pc.subtract(table["reached"], 1), 1), pa.float64())
    mean = pc.divide(pc.cast(table["total"], pa.float64(), safe=False), others)
    drawn = ValueMap(
        title="Mean distance to all that a vertex reaches",
        sentence=f"{EACH_HALF}.",
        values=spread(context.vertices, table["vertex"].to_numpy(), mean.to_numpy()),
        unit=unit,
    )
    figures = {f"closeness: {name}": of[name] for name in ("diameter", "radius")}
    return ProductPart(Result(context.title, f"{extent}, from {share(len(table), context.vertices)}", tops, figures), drawn)
