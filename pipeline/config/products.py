"""The tables `[nearest]`, `[isochrones]`, `[closeness]` and `[flows]` of a run's configuration, and the options of two commands.

Each asks for something that follows from the shortest paths from many vertices.
"""

from itertools import pairwise
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from pipeline.config.cluster import ClusterConfig
from pipeline.config.model import Choice, Finite, LocalFolder, Model, Natural, Positive, Switch


def _ascending(values: tuple[float, ...]) -> tuple[float, ...]:
    if any(value < 0 for value in values) or any(later <= one for one, later in pairwise(values)):
        raise ValueError("must not be negative, and must ascend")
    return values


Length = Annotated[Natural | Finite, Field(union_mode="left_to_right")]


class NearestConfig(Model):
    """The nearest of given vertices, such as hospitals, for every vertex: table `nearest`."""

    # File of the facilities: Parquet with one column of ids, or a text or CSV file with a vertex on each line, as in `sources`.
    facilities: str = Field(examples=["hospitals.csv"])
    count: Annotated[Positive, Field(le=1000)] = 1  # how many of them for each vertex
    direction: Literal["to", "from"] = "to"  # whether paths lead to the facility, or from it; for directed graphs


class IsochronesConfig(Model):
    """What is within given distances of each source: table `isochrones`."""

    # Distances, in the unit of the weights: a vertex is within one if its distance is at most this.
    thresholds: Annotated[tuple[Length, ...], AfterValidator(_ascending)] = Field(
        min_length=1, max_length=1000, examples=[[6000, 9000]]
    )
    sources: str | None = Field(default=None, examples=["schools.csv"])  # file of vertices, as `facilities`; none: all vertices
    # Columns of numbers in the graph's `nodes`, summed over the vertices within each threshold; a missing value counts as 0.
    sums: tuple[str, ...] = Field(default=(), examples=[["people", "jobs"]])
    vertices: Switch = False  # also write the vertices within the largest threshold, with their distances: `isochrone_vertices`
    polygons: Switch = False  # also write the area of each isochrone of a graph with coordinates: `isochrone_polygons`


class ClosenessConfig(Model):
    """Closeness and eccentricity: table `closeness`, exact over all vertices."""

    sources: str | None = Field(default=None, examples=["crossings.csv"])  # file of vertices with a row; none: all vertices


class FlowsConfig(Model):
    """The number of shortest paths that lead over each arc: table `flows`."""

    # A Parquet file of this machine with columns `src` and `dst`, a row for each path. None: one between every two vertices.
    pairs: str | None = Field(default=None, examples=["trips.parquet"])


class TreesOptions(Model):
    """Options of the command `trees`; they mean the same as in `RunConfig`."""

    output: LocalFolder
    sources: str | None = None
    backend: Choice = "auto"
    cluster: ClusterConfig = ClusterConfig()


class MatrixOptions(TreesOptions):
    """Options of the command `matrix`."""

    targets: str | None = None
    cutoff: Length | None = Field(default=None, ge=0)
    proof: Literal["every", "sample"] = "every"  # which trees are proved
