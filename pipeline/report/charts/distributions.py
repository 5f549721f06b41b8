"""Charts of the distributions of degrees, levels, distances and component sizes; None where there is only one value."""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from kernels.graph import Array
from pipeline.report.aggregates import bins, frequencies, lower_median, of_groups, values_of
from pipeline.report.charts import Caption, Chart, histogram, log_log
from pipeline.report.reading import VertexColumns
from pipeline.report.wording import counted, in_unit, number, with_unit
from pipeline.store.manifest import Folder

LEVEL_BARS = 170  # each two units of the chart wide
DISTANCE_BARS = 60
_BLOCK = 1 << 18  # vertices that a core counts at a time


def degree_chart(vertices: VertexColumns) -> Chart | None:
    """Number of vertices of each degree; None if no vertex has an arc."""
    if not vertices.out_degree.any():
        return None
    columns = [("out-degree", vertices.out_degree), ("in-degree", vertices.in_degree)]
    if vertices.out_degree is vertices.in_degree or np.array_equal(vertices.out_degree, vertices.in_degree):
        columns = [("out-degree = in-degree", vertices.out_degree)]
    counts_by_degree = [(name, frequencies(np.array_split(column, -(-len(column) // _BLOCK)))) for name, column in columns]
    sentence = "; ".join(f"{name}: {_spread(counts)}" for name, counts in counts_by_degree) + "."
    zeros = counts_by_degree[0][1][0], counts_by_degree[-1][1][0]
    if any(zeros):
        sentence += f" Not on the axes: {zeros[0]:,} vertices of out-degree 0, {zeros[1]:,} of in-degree 0."
    points = [(name, *_present(counts[1:], first=1)) for name, counts in counts_by_degree]
    return log_log(Caption("Degrees", "degree (arcs)", "vertices", sentence), points)


def level_chart(source: int | str, distance: pa.ChunkedArray) -> Chart:
    """Number of vertices on each BFS level from a source."""
    sizes = frequencies(values_of(distance))
    reached = f"{int(sizes.sum()):,} of {len(distance):,} vertices reached; deepest level {len(sizes) - 1:,}"
    return chart_of_levels(Caption(f"Levels from {source}", "level (hops)", "vertices", reached), sizes)


def chart_of_levels(caption: Caption, sizes: Array) -> Chart:
    """Draw the sizes of the levels from 0; `caption` names what is counted, and begins the sentence."""
    edges, counts, width = level_bins(sizes)
    widest, noun = int(sizes.argmax()), caption.y_label
    sentence = f"{caption.sentence}; widest level {widest:,} with {int(sizes[widest]):,} {noun}."
    per = f"{noun} per {counted(width, 'level')}" if width > 1 else noun
    return histogram(replace(caption, y_label=per, sentence=sentence), edges, counts, integer=True)


def level_bins(sizes: Array) -> tuple[Array, Array, int]:
    """Sum the sizes of the levels from 0 over bars of equally many levels: edges, counts and levels per bar, as `bins`."""
    width = (len(sizes) - 1) // LEVEL_BARS + 1
    counts = np.add.reduceat(sizes, np.arange(0, len(sizes), width))
    return np.arange(len(counts) + 1) * width - 0.5, counts, width


def distance_chart(source: int | str, distance: pa.ChunkedArray, unit: str = "sum of weights") -> Chart:
    """Number of vertices by shortest distance from a source."""
    reached = values_of(distance)
    edges, counts, width = binned = bins(reached, DISTANCE_BARS)
    farthest = max(part.max() for part in reached if len(part))
    sentence = (
        f"{int(counts.sum()):,} of {len(distance):,} vertices reached; "
        f"median {number(lower_median(reached, binned))}, farthest {with_unit(farthest, unit)}."
    )
    integer = reached[0].dtype.kind == "i"
    per = "vertices" if integer and width == 1 else f"vertices per {number(width)}"
    return histogram(Caption(f"Distances from {source}", in_unit("distance", unit), per, sentence), edges, counts, integer)


def component_sizes(answer: Folder) -> tuple[Array, Array]:
    """Labels, ascending, and numbers of vertices of the components of a table."""
    parts = of_groups(answer, ["labels"], lambda rows: rows["labels"].value_counts())
    labels, counts = (np.concatenate([part.field(name).to_numpy() for part in parts]) for name in ("values", "counts"))
    order = np.argsort(labels)
    first = np.flatnonzero(np.append(True, np.diff(labels[order]) > 0)[: len(labels)])
    return labels[order][first], np.add.reduceat(counts[order], first) if len(first) else counts


def component_chart(title: str, sizes: Array, plural: str) -> Chart | None:
    """Number of components, which are called `plural`, of each size; None if all have one size."""
    if not len(sizes) or sizes.min() == sizes.max():
        return None
    sentence = (
        f"{len(sizes):,} {plural}; the largest has {int(sizes.max()):,} vertices; {int((sizes == 1).sum()):,} of one vertex."
    )
    return log_log(Caption(title, "size (vertices)", plural, sentence), [("", *np.unique(sizes, return_counts=True))])


def _present(counts: Array, first: int = 0) -> tuple[Array, Array]:
    """The values that occur, and how often; `counts` begins with value `first`."""
    present = np.flatnonzero(counts)
    return present + first, counts[present]


def _spread(counts: Array) -> str:
    """Median, mean and largest of the values that occur `counts` times."""
    total = int(counts.sum())
    median = int(np.searchsorted(np.cumsum(counts), (total - 1) // 2, side="right"))
    mean = int((counts * np.arange(len(counts))).sum()) / total
    return f"median {median:,}, mean {mean:,.2f}, largest {len(counts) - 1:,}"
