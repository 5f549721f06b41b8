"""The tables `[nearest]`, `[isochrones]`, `[closeness]` and `[flows]` of a run's configuration, and the options of two commands.

Each describes a table that is made from the shortest paths from many vertices.
"""

from itertools import pairwise
from math import inf
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from pipeline.config.cluster import ClusterConfig
from pipeline.config.model import (
    LARGEST,
    Choice,
    File,
    Finite,
    LocalFolder,
    Metres,
    Model,
    Natural,
    Positive,
    Snap,
    SnapTo,
    Switch,
    as_exact_float,
    once,
)


def _ascending(values: tuple[float, ...]) -> tuple[float, ...]:
    if any(later <= one for one, later in pairwise(values)):
        raise ValueError("must ascend")
    return values


def _length(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < inf:
        raise ValueError("must be a number, at least 0")
    return as_exact_float(value) if value > LARGEST else value


Length = Annotated[Natural | Finite, Field(union_mode="left_to_right"), BeforeValidator(_length)]


class NearestConfig(Model):
    """The nearest of given vertices, such as hospitals, for every vertex: table `nearest`."""

    # File of the facilities: Parquet with one column of ids, or a text or CSV file with one vertex per line, as in `sources`.
    facilities: File = Field(examples=["hospitals.csv"])
    count: Annotated[Positive, Field(le=1000)] = 1  # number of facilities for each vertex
    direction: Literal["to", "from"] = "to"  # whether paths lead to the facility or from it, which matters in directed graphs


class IsochronesConfig(Model):
    """How much is within given distances of each source: table `isochrones`."""

    # Distances in the unit of the weights, ascending; a vertex is within a threshold if its distance is at most the threshold.
    thresholds: Annotated[tuple[Length, ...], AfterValidator(_ascending)] = Field(
        min_length=1, max_length=1000, examples=[[6000, 9000]]
    )
    sources: File | None = Field(default=None, examples=["schools.csv"])  # file of vertices like `facilities`; none: all
    # Columns of numbers in the graph's `nodes` to sum over the vertices within each threshold; a missing value counts as 0.
    sums: Annotated[tuple[str, ...], AfterValidator(once)] = Field(default=(), examples=[["people", "jobs"]])
    vertices: Switch = False  # also write table `isochrone_vertices`: the vertices within the largest threshold
    polygons: Switch = False  # also write table `isochrone_polygons`: the area of each isochrone; needs coordinates


class ClosenessConfig(Model):
    """Closeness and eccentricity: table `closeness`, exact over all vertices."""

    sources: File | None = Field(default=None, examples=["crossings.csv"])  # file of the vertices that have a row; none: all


class FlowsConfig(Model):
    """The number of shortest paths that use each arc: table `flows`."""

    # A Parquet file of this machine with columns `src` and `dst` and a row for each path. None: one path for every ordered pair.
    pairs: File | None = Field(default=None, examples=["trips.parquet"])


class TreesOptions(Model):
    """Options of the command `trees`, as in `RunConfig`."""

    output: LocalFolder
    sources: File | None = None
    snap_limit: Metres = Snap.limit
    snap_to: SnapTo = Snap.to
    backend: Choice = "auto"
    cluster: ClusterConfig = ClusterConfig()

    @property
    def files_by_key(self) -> dict[str, str]:
        """The files of vertices that are given, by their options."""
        return {"sources": self.sources} if self.sources else {}

    @property
    def snap(self) -> Snap:
        """See `RunConfig.snap`."""
        return Snap(self.snap_limit, self.snap_to)


class MatrixOptions(TreesOptions):
    """Options of the command `matrix`."""

    targets: File | None = None
    cutoff: Length | None = None
    proof: Literal["every", "sample"] = "every"  # which trees are proved

    @property
    def files_by_key(self) -> dict[str, str]:
        """See `TreesOptions.files_by_key`."""
        return super().files_by_key | ({"targets": self.targets} if self.targets else {})
