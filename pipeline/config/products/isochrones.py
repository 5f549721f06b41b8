"""The table `[isochrones]` of a run's configuration."""

from itertools import pairwise
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from pipeline.config.model import File, Length, Model, Switch, once


def _ascending(values: tuple[float, ...]) -> tuple[float, ...]:
    if any(later <= one for one, later in pairwise(values)):
        raise ValueError("must ascend")
    return values


class IsochronesConfig(Model):
    """How much is within given distances of each source: table `isochrones`."""

    VERTICES: ClassVar[tuple[str, ...]] = ("sources",)
    # Distances in the unit of the weights, ascending; a vertex is within a threshold if its distance is at most the threshold.
    thresholds: Annotated[tuple[Length, ...], AfterValidator(_ascending)] = Field(
        min_length=1, max_length=1000, examples=[[6000, 9000]]
    )
    sources: File | None = Field(default=None, examples=["schools.csv"])  # file of vertices like `facilities`; none: all
    # Columns of numbers in the graph's `nodes` to sum over the vertices within each threshold; a missing value counts as 0.
    sums: Annotated[tuple[str, ...], AfterValidator(once)] = Field(default=(), examples=[["people", "jobs"]])
    vertices: Switch = False  # also write table `isochrone_vertices`: the vertices within the largest threshold
    polygons: Switch = False  # also write table `isochrone_polygons`: the area of each isochrone; needs coordinates
