"""The report's part on table `flows`."""

import numpy as np
import pyarrow as pa

from pipeline.report.products import EACH_HALF, ProductPart, ReportContext, ValueMap, top
from pipeline.report.results import FOLDER, MOST, Result
from pipeline.report.wording import counted, number
from pipeline.store.facts.products import ProductFacts
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables


def show(product: Folder, context: ReportContext) -> ProductPart:
    """The arcs with most paths, and the paths into each vertex."""
    table, vertices = tables.read(product.path), context.vertices
    sql = f"SELECT src, dst, flow\nFROM '{FOLDER}/flows/*.parquet' ORDER BY flow DESC, src, dst LIMIT {MOST};"
    weight, facts = product.manifest.parameters["weight"], ProductFacts.of(product)
    unit = weight or "paths"
    shown = table.select(["src", "dst", "flow"])
    tops = [top(f"Arcs with most {unit}", ("src", "dst", "flow"), shown, sql, by=2)]
    sentence = f"{counted(len(table), 'arc')} with a path, of {counted(facts.sources, 'source')}{_unconnected(facts, unit)}"
    into = np.zeros(vertices.count)
    np.add.at(into, vertices.positions(table["dst"].to_numpy()), table["flow"].to_numpy())
    drawn = ValueMap(
        title=f"{weight or 'Paths'} that lead into a vertex",
        sentence=f"{EACH_HALF}; no path uses grey ones.",
        values=pa.chunked_array([pa.array(into, mask=into == 0)]),
        unit=unit,
    )
    return ProductPart(Result(context.title, sentence, tops, {}), drawn if len(table) else None)


def _unconnected(facts: ProductFacts, unit: str) -> str:
    """How much of what the pairs ask for has no path."""
    figures = facts.figures
    if not figures.get("unconnected"):
        return ""
    return f"; {number(figures['unconnected'])} of {number(figures['weight'])} {unit} have no path"
