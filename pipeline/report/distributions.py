"""Charts of the distributions of degrees, levels, distances and component sizes; None where there is only one value."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from kernels.graph import Array
from pipeline.report.charts import Caption, Chart, bins, histogram, log_log
from pipeline.report.reading import Vertices
from pipeline.report.wording import counted, number
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables

LEVEL_BARS = 170  # each two units of the chart wide
DISTANCE_BARS = 60


def degree_chart(vertices: Vertices) -> Chart | None:
    """Number of vertices of each degree; None if no vertex has an arc."""
    if not vertices.out_degree.any():
        return None
    columns = [("out-degree", vertices.out_degree), ("in-degree", vertices.in_degree)]
    if np.array_equal(vertices.out_degree, vertices.in_degree):
        columns = [("out-degree = in-degree", vertices.out_degree)]
    sentence = "; ".join(f"{name}: {_spread(degrees)}" for name, degrees in columns) + "."
    zeros = int((vertices.out_degree == 0).sum()), int((vertices.in_degree == 0).sum())
    if any(zeros):
        sentence += f" Not on the axes: {zeros[0]:,} vertices of out-degree 0, {zeros[1]:,} of in-degree 0."
    points = [(name, *_frequencies(degrees[degrees > 0])) for name, degrees in columns]
    return log_log(Caption("Degrees", "degree (arcs)", "vertices", sentence), points)


def level_chart(source: int, distance: pa.ChunkedArray) -> Chart:
    """Number of vertices on each BFS level from a source."""
    levels = distance.drop_null().to_numpy()
    sizes = np.bincount(levels)
    edges, counts, width = bins(levels, LEVEL_BARS)
    widest = int(sizes.argmax())
    sentence = (
        f"{len(levels):,} of {len(distance):,} vertices reached; deepest level {len(sizes) - 1:,}; "
        f"widest level {widest:,} with {int(sizes[widest]):,} vertices."
    )
    per = f"vertices per {counted(int(width), 'level')}" if width > 1 else "vertices"
    return histogram(Caption(f"Levels from {source}", "level (hops)", per, sentence), edges, counts, integer=True)


def distance_chart(source: int, distance: pa.ChunkedArray) -> Chart:
    """Number of vertices by shortest distance from a source."""
    reached = distance.drop_null().to_numpy()
    edges, counts, width = bins(reached, DISTANCE_BARS)
    sentence = (
        f"{len(reached):,} of {len(distance):,} vertices reached; "
        f"median {number(np.sort(reached)[(len(reached) - 1) // 2])}, farthest {number(reached.max())} (sum of weights)."
    )
    integer = reached.dtype.kind == "i"
    per = "vertices" if integer and width == 1 else f"vertices per {number(width)}"
    return histogram(Caption(f"Distances from {source}", "distance (sum of weights)", per, sentence), edges, counts, integer)


def component_sizes(answer: Folder) -> Array:
    """Number of vertices of each component of a table of components, ascending."""
    labels = tables.read(answer.path, columns=["labels"])["labels"]
    return np.sort(labels.value_counts().field("counts").to_numpy())


def component_chart(title: str, sizes: Array) -> Chart | None:
    """Number of components of each size; None if all have one size."""
    if not len(sizes) or sizes[0] == sizes[-1]:
        return None
    sentence = (
        f"{len(sizes):,} components; the largest has {int(sizes[-1]):,} vertices; {int((sizes == 1).sum()):,} of one vertex."
    )
    return log_log(Caption(title, "size (vertices)", "components", sentence), [("", *_frequencies(sizes))])


def _frequencies(values: Array) -> tuple[Array, Array]:
    counts = np.bincount(values)
    present = np.flatnonzero(counts)
    return present, counts[present]


def _spread(degrees: Array) -> str:
    median = int(np.partition(degrees, (len(degrees) - 1) // 2)[(len(degrees) - 1) // 2])
    return f"median {median:,}, mean {degrees.mean():,.2f}, largest {int(degrees.max()):,}"
