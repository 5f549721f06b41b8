"""The table `[expect]` of a run's configuration."""

from typing import Annotated

from pydantic import Field

from pipeline.config.model import Finite, Model, Natural, Switch


class ExpectConfig(Model):
    """What must hold for a result to be published. Otherwise the run fails, and the result before it stays."""

    min_vertices: Natural | None = Field(default=None, examples=[200_000])  # least number of vertices
    max_vertices: Natural | None = Field(default=None, examples=[400_000])  # greatest number of vertices
    min_arcs: Natural | None = Field(default=None, examples=[500_000])  # least number of arcs in the stored graph
    max_arcs: Natural | None = Field(default=None, examples=[900_000])  # greatest number of arcs in the stored graph
    # By which part of them the numbers of vertices and of arcs may differ from those of the run before: 0.1 is a tenth.
    max_change: Annotated[Finite, Field(gt=0)] | None = Field(default=None, examples=[0.1])
    # Columns that the source must have, also if they are not read; of CSV, TSV and Parquet.
    columns: tuple[str, ...] = Field(default=(), examples=[["minutes", "name"]])
    empty: Switch = False  # whether a graph without arcs, or an empty table, may replace one that is not empty
