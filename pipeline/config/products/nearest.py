"""The table `[nearest]` of a run's configuration."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from pipeline.config.model import Model, Positive
from pipeline.config.products.zones import VertexFile, ZoneName


class NearestConfig(Model):
    """The nearest of given vertices, such as hospitals, for every vertex: table `nearest`."""

    VERTICES: ClassVar[tuple[str, ...]] = ("facilities",)
    COLUMNS: ClassVar[tuple[str, ...]] = ("zone", "zone_weight")
    # File of the facilities: Parquet with one column of ids, or a text or CSV file with one vertex per line, as in `sources`;
    # places; or zones, polygons or `h3:8`, each of which one vertex stands for.
    facilities: VertexFile = Field(examples=["hospitals.csv"])
    count: Annotated[Positive, Field(le=1000)] = 1  # number of facilities for each vertex
    direction: Literal["to", "from"] = "to"  # whether paths lead to the facility or from it, which matters in directed graphs
    # By what vertices are grouped, for table `nearest_zones`: a column of `nodes`; a file of polygons, GeoParquet or GeoJSON; or
    # `h3:8`, the cells of H3 of this resolution.
    zone: ZoneName | None = Field(default=None, examples=["district"])
    # Column of `nodes` that weights vertices, for column `weighted_mean`; a missing value counts as 0.
    zone_weight: str | None = Field(default=None, min_length=1, examples=["population"])

    def idle_keys(self) -> Iterator[tuple[str, str]]:
        """See `Model.idle_keys`."""
        if self.zone_weight and not self.zone:
            yield "zone_weight", "there are no zones; name them by zone, or leave the key out"
