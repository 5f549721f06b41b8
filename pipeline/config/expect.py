"""The tables `[expect]` and `[reject]` of a run's configuration."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from pipeline.config.model import Finite, Model, Natural, Switch

MOST_REJECTED = 1_000_000  # rows of table `rejected`


def _few(value: object) -> object:
    share = isinstance(value, float)
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not (0 < value < 1 if share else 0 <= value <= MOST_REJECTED)
    ):
        raise ValueError(f"must be a number of rows, at most {MOST_REJECTED:,}, or a share of all rows, above 0 and below 1")
    return value


class RejectConfig(Model):
    """Bad rows of the source that do not fail a run, but are written to table `rejected`."""

    # How many rows of a CSV, TSV, SNAP, KONECT or Parquet source may be bad: a number, or a share such as 0.001.
    limit: Annotated[Natural | Finite, Field(union_mode="left_to_right"), BeforeValidator(_few)] = Field(
        default=0, examples=[100]
    )


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
