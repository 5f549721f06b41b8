"""The table `[expect]` of a run's configuration."""

from typing import Annotated

from pydantic import Field

from pipeline.config.model import Finite, Model, Natural, Switch


class ExpectConfig(Model):
    """Conditions for publishing a result. If one does not hold, the run fails, and the previous result stays."""

    min_vertices: Natural | None = Field(default=None, examples=[200_000])  # least number of vertices
    max_vertices: Natural | None = Field(default=None, examples=[400_000])  # largest number of vertices
    min_arcs: Natural | None = Field(default=None, examples=[500_000])  # least number of arcs in the stored graph
    max_arcs: Natural | None = Field(default=None, examples=[900_000])  # largest number of arcs in the stored graph
    # Largest relative change of the numbers of vertices and arcs since the previous run: 0.1 is a tenth.
    max_change: Annotated[Finite, Field(gt=0)] | None = Field(default=None, examples=[0.1])
    # Columns that a CSV, TSV or Parquet source must have, even if they are not read.
    columns: tuple[str, ...] = Field(default=(), examples=[["minutes", "name"]])
    empty: Switch = False  # whether a graph without arcs, or an empty table, may replace one that is not empty
