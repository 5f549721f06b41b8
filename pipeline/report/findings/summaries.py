"""What a report says of all values of a table together."""

import pyarrow as pa

from pipeline.report.aggregates import exact_sum
from pipeline.report.results import Figures
from pipeline.report.wording import counted

_CORNERS = 3


def triangles(table: pa.Table) -> tuple[str, Figures]:
    """How many triangles there are: each counts at its three corners."""
    total = int(exact_sum(table["triangles"])) // _CORNERS
    return counted(total, "triangle"), {"in all": total}


def lcc(table: pa.Table) -> tuple[str, Figures]:
    """The mean coefficient, and the share of all pairs of neighbours that an arc connects."""
    mean = exact_sum(table["lcc"]) / table.num_rows
    pairs = exact_sum(table["denominator"])
    share = exact_sum(table["numerator"]) / pairs if pairs else 0.0
    text = f"mean coefficient {mean:.6g}; of all pairs of neighbours of a vertex, {share:.6g} are connected"
    return text, {"mean": mean, "share of all pairs": share}
