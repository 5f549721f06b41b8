"""The report's part on table `isochrone_zones`."""

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.report.products import ProductPart, ReportContext, quoted_name, top
from pipeline.report.results import FOLDER, MOST, Result
from pipeline.report.wording import counted
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables
from pipeline.tables.points import GEOMETRY

_OWN = ("zone", "threshold", "sources", GEOMETRY)


def show(product: Folder, context: ReportContext) -> ProductPart:
    """The zones from which most is within the largest threshold."""
    table, weight = tables.read(product.path), product.manifest.parameters["zone_weight"]
    column = [name for name in table.schema.names if name not in _OWN][-1]
    largest = pc.max(table["threshold"]).as_py() if len(table) else 0
    rows = table.filter(pc.and_(pc.equal(table["threshold"], largest), table[column].is_valid()))
    zones = pa.table({"zone": rows["zone"].cast(pa.string()).fill_null("without a zone"), column: rows[column]})
    name = quoted_name(column)
    order = f"WHERE threshold = {largest} AND {name} IS NOT NULL ORDER BY {name} DESC, zone LIMIT {MOST}"
    sql = f"SELECT zone, {name}\nFROM '{FOLDER}/{product.manifest.step}/*.parquet' {order};"
    tops = [top(f"Zones with most within {largest:,}", ("zone", column), zones, sql)] if len(zones) else []
    where = f"; means are weighted by {weight}" if weight else ""
    count = len(pc.unique(table["zone"]))
    return ProductPart(Result(context.title, f"{counted(count, 'zone')}{where}", tops, {}))
