"""The report's part on table `nearest`."""

import pyarrow.compute as pc

from pipeline.report.products import EACH_HALF, ProductPart, ReportContext, ValueMap, share, top, who_of
from pipeline.report.results import FOLDER, MOST, Result
from pipeline.report.wording import counted, in_unit, with_unit
from pipeline.store.facts.products import ProductFacts
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables


def show(product: Folder, context: ReportContext) -> ProductPart:
    """The facilities that serve most vertices, and how far vertices are from them."""
    table, unit = tables.read(product.path), context.unit
    first = table.filter(pc.equal(table["rank"], 1))
    who = who_of(table, "facility")
    connected = first.filter(pc.is_valid(first["facility"]))
    served = connected.group_by(who).aggregate([("vertex", "count"), ("distance", "max")])
    order = f"FROM '{FOLDER}/nearest/*.parquet' WHERE rank = 1 AND facility IS NOT NULL GROUP BY {', '.join(who)}"
    order += f" ORDER BY vertices DESC, {', '.join(who[:2])} LIMIT {MOST}"
    sql = f"SELECT {', '.join(who)}, count(*) AS vertices, max(distance) AS farthest\n{order};"
    columns = (*who, "vertices", in_unit("farthest", unit))
    tops = [top("Facilities that are nearest to most vertices", columns, served, sql, by=len(who))]
    reached, far = len(first) - first["distance"].null_count, pc.max(first["distance"]).as_py()
    where = f"; no vertex is farther than {with_unit(far, unit)} from the nearest" if reached else ""
    facilities = counted(ProductFacts.of(product).sources, "facility", "facilities")
    sentence = f"{facilities}; {share(reached, context.vertices)} are connected{where}"
    drawn = ValueMap(
        title="Distance to the nearest facility",
        sentence=f"{EACH_HALF}.",
        values=first["distance"],
        unit=unit,
        marked=served["facility"].to_numpy(),
        what="facility",
    )
    figures = {"nearest: farthest vertex": far} if reached else {}
    return ProductPart(Result(context.title, sentence, tops, figures), drawn if reached else None)
