"""The table `[isochrones]` of a run's configuration."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from pipeline.config.model import Finite, Length, Metres, Model, Switch, once, set_keys
from pipeline.config.products.zones import VertexFile, ZoneName

_SHORT = 1e-100  # of `least`: the powers of what is shorter are no floats
_PARAMETERS = {"cumulative": (), "exponential": ("beta",), "gravity": ("alpha", "least")}  # of each decay


def _ascending(values: tuple[float, ...]) -> tuple[float, ...]:
    if any(later <= one for one, later in pairwise(values)):
        raise ValueError("must ascend")
    return values


class IsochronesConfig(Model):
    """How much is within given distances of each source: table `isochrones`."""

    VERTICES: ClassVar[tuple[str, ...]] = ("sources",)
    COLUMNS: ClassVar[tuple[str, ...]] = ("sums", "zone", "zone_weight", "supply", "demand")
    # Distances in the unit of the weights, ascending; a vertex is within a threshold if its distance is at most the threshold.
    thresholds: Annotated[tuple[Length, ...], AfterValidator(_ascending)] = Field(
        min_length=1, max_length=1000, examples=[[6000, 9000]]
    )
    sources: VertexFile | None = Field(default=None, examples=["schools.csv"])  # file of vertices like `facilities`; none: all
    # Columns of numbers in the graph's `nodes` to sum over the vertices within each threshold; a missing value counts as 0.
    sums: Annotated[tuple[str, ...], AfterValidator(once)] = Field(default=(), examples=[["people", "jobs"]])
    # By what sources are grouped, for table `isochrone_zones`, as in `[nearest]`.
    zone: ZoneName | None = Field(default=None, examples=["h3:8"])
    # Column of `nodes`, or of the places in `sources`, that weights sources in its means; a missing value counts as 0.
    zone_weight: str | None = Field(default=None, min_length=1, examples=["population"])
    # Whether paths lead `from` the sources, or `to` them, as of people who reach a hospital.
    direction: Literal["from", "to"] = "from"
    # By what values at distance t are multiplied in sums: `cumulative`, 1; `exponential`, exp(-beta t); or `gravity`,
    # max(t, least)^-alpha.
    decay: Literal["cumulative", "exponential", "gravity"] = "cumulative"
    beta: Annotated[Finite, Field(ge=0)] | None = Field(default=None, examples=[0.002])  # of `exponential`
    alpha: Annotated[Finite, Field(ge=0, le=100)] | None = Field(default=None, examples=[1.5])  # the exponent of `gravity`
    # Distance, in the unit of the weights, up to which all vertices count alike: t^-alpha is infinite at distance 0.
    least: Annotated[Finite, Field(ge=_SHORT)] | None = Field(default=None, examples=[300.0])
    # Column with what each source supplies, such as beds, for two-step floating catchment areas (2SFCA): adds column
    # `supply_ratio` and table `isochrone_access`. A column of `sources`, if these are places, or of `nodes`; empty counts as 0.
    supply: str | None = Field(default=None, min_length=1, examples=["beds"])
    # Which of both has the column `supply`. By default the one that has it; required if both do.
    supply_from: Literal["sources", "nodes"] | None = Field(default=None, examples=["sources"])
    demand: str | None = Field(default=None, min_length=1, examples=["people"])  # column of `nodes` with what each vertex demands
    vertices: Switch = False  # also write table `isochrone_vertices`: the vertices within the largest threshold
    polygons: Switch = False  # also write table `isochrone_polygons`: the area of each isochrone; needs coordinates
    # Metres around the edges within a threshold that are its area where no triangle is, as on a straight road. 0: it is null.
    buffer: Metres = Field(default=0.0, examples=[50])

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if missing := [key for key in _PARAMETERS[self.decay] if getattr(self, key) is None]:
            raise ValueError(f"decay {self.decay} needs {' and '.join(missing)}")
        if (self.supply is None) != (self.demand is None):
            raise ValueError("supply and demand need each other")
        if self.supply_from == "sources" and self.sources is None:
            raise ValueError("supply_from sources needs sources, a file of places")
        return self

    def idle_keys(self) -> Iterator[tuple[str, str]]:
        """See `Model.idle_keys`."""
        given = set_keys(self)
        for decay, keys in _PARAMETERS.items():
            for key in keys:
                if key in given and decay != self.decay:
                    yield key, f'the decay is {self.decay}; set decay = "{decay}", or leave the key out'
        if "decay" in given and not (self.sums or self.supply):
            yield "decay", "no column is summed; name some in sums, or supply and demand, or leave the key out"
        if "supply_from" in given and not self.supply:
            yield "supply_from", "nothing is supplied; name a column by supply, or leave the key out"
        if self.zone_weight and not self.zone:
            yield "zone_weight", "there are no zones; name them by zone, or leave the key out"
        if "buffer" in given and not self.polygons:
            yield "buffer", "no areas are drawn; set polygons = true, or leave the key out"
