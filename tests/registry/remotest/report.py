"""The report's part on table `remotest`."""

import pyarrow.compute as pc

from pipeline.report.products import ProductPart, ReportContext
from pipeline.report.results import Result
from pipeline.report.wording import with_unit
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables


def show(product: Folder, context: ReportContext) -> ProductPart:
    """The largest distance."""
    largest = pc.max(tables.read(product.path, ["distance"])["distance"]).as_py()
    return ProductPart(Result(context.title, f"at most {with_unit(largest or 0, context.unit)} from a source"))
