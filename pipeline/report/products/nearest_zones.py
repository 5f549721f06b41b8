"""The report's part on table `nearest_zones`."""

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.report.products import ProductPart, ReportContext, top
from pipeline.report.results import FOLDER, MOST, Result
from pipeline.report.wording import counted, in_unit
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables


def show(product: Folder, context: ReportContext) -> ProductPart:
    """The zones that are farthest from a facility, on average of their vertices or of what the weights count."""
    table, weight = tables.read(product.path), product.manifest.parameters["zone_weight"]
    first = table.filter(pc.equal(table["rank"], 1))
    mean = "weighted_mean" if weight else "mean"
    zones = first["zone"].cast(pa.string()).fill_null("without a zone")
    means = pa.table({"zone": zones, mean: first[mean], "unreached": first["unreached"]}).filter(first[mean].is_valid())
    order = f"WHERE rank = 1 AND {mean} IS NOT NULL ORDER BY {mean} DESC, zone LIMIT {MOST}"
    sql = f"SELECT zone, {mean}, unreached\nFROM '{FOLDER}/{product.manifest.step}/*.parquet' {order};"
    tops = [top("Zones farthest from a facility", ("zone", in_unit(mean, context.unit), "unreached"), means, sql)]
    unreached = pc.sum(first["unreached"]).as_py() or 0
    where = f"means are weighted by {weight}; " if weight else ""
    sentence = f"{counted(len(first), 'zone')}; {where}{counted(unreached, 'vertex', 'vertices')} without a facility"
    return ProductPart(Result(context.title, sentence, tops, {}))
