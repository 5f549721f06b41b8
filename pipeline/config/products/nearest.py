"""The table `[nearest]` of a run's configuration."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from pipeline.config.model import File, Model, Positive


class NearestConfig(Model):
    """The nearest of given vertices, such as hospitals, for every vertex: table `nearest`."""

    VERTICES: ClassVar[tuple[str, ...]] = ("facilities",)
    # File of the facilities: Parquet with one column of ids, or a text or CSV file with one vertex per line, as in `sources`.
    facilities: File = Field(examples=["hospitals.csv"])
    count: Annotated[Positive, Field(le=1000)] = 1  # number of facilities for each vertex
    direction: Literal["to", "from"] = "to"  # whether paths lead to the facility or from it, which matters in directed graphs
