"""The options of the command `matrix`."""

from typing import ClassVar, Literal

from pipeline.config.model import File, Length
from pipeline.config.products import ProductOptions


class MatrixOptions(ProductOptions):
    """Options of the command `matrix`."""

    VERTICES: ClassVar[tuple[str, ...]] = ("sources", "targets")
    targets: File | None = None
    cutoff: Length | None = None
    proof: Literal["every", "sample"] = "every"  # which trees are proved
