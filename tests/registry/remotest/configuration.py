"""The table `[remotest]` of a run's configuration."""

from typing import ClassVar

from pydantic import Field

from pipeline.config.model import File, Model


class RemotestConfig(Model):
    """The vertex that is farthest from each source: table `remotest`."""

    VERTICES: ClassVar[tuple[str, ...]] = ("sources",)
    sources: File | None = Field(default=None, examples=["schools.csv"])  # file of the vertices that have a row; none: all
