"""The options of the command `matrix`."""

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from pipeline.config.model import Length
from pipeline.config.products import ProductOptions
from pipeline.config.products.zones import VertexFile, ZoneName


class MatrixOptions(ProductOptions):
    """Options of the command `matrix`."""

    VERTICES: ClassVar[tuple[str, ...]] = ("sources", "targets")
    targets: VertexFile | None = None
    cutoff: Length | None = None
    proof: Literal["every", "sample"] = "every"  # which trees are proved
    zone: ZoneName | None = None  # by what sources and targets are grouped
    zone_weight: str | None = Field(default=None, min_length=1)  # a column of `nodes`, or of places, for weighted means
    zone_ends: Literal["every", "centre"] = "every"  # which vertices of a zone are sources and targets

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.zone_weight and not self.zone:
            raise ValueError("zone_weight needs zone, a column of zones")
        if self.zone_ends != "every" and not self.zone:
            raise ValueError("zone_ends needs zone")
        return self
