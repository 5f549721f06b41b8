"""The table `[graph]` of a run's configuration, or the file that a run's `graph` names."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from pipeline.config.model import MIB, ColumnName, Finite, Model, Positive, Switch
from pipeline.redaction import redacted

Format = Literal["auto", "dimacs", "arcs", "snap", "matrix-market", "gra", "pace", "csv", "tsv", "parquet"]
LONGEST_BLOCK = 16 * MIB  # decompressed bytes in memory at a time
RATIO_FROM = 16 * MIB  # bytes of content from which Limits.ratio applies: less is harmless, and may compress very well


def _single(value: str) -> str:
    value = "\t" if value in ("tab", "\\t") else value
    if not re.fullmatch(r"[\t -~]", value) or re.fullmatch(r'["\w]', value):
        raise ValueError("must be one ASCII character, but no letter, digit or quote; `tab` is a tab")
    return value


Delimiter = Annotated[str, AfterValidator(_single)]
_PASSWORD = re.compile(r"://[^/?#]*:[^/?#]+@")  # in any link of a chained URL, too


class Limits(Model):
    """Bounds on the content of a source file; a file that exceeds one is refused."""

    bytes: Positive = 2**40  # decompressed size
    # Decompressed over compressed size (checked from 16 MiB on); for Parquet, its rows' size in memory over the file's.
    ratio: Finite = Field(default=200.0, gt=1)
    edges: Positive = 2**36  # rows of the edge list
    columns: Positive = 10_000  # columns of a CSV, TSV or Parquet file
    # Bytes before the first line of data; also of a Parquet file's footer, if that is more than 1 % of the file.
    header: Positive = MIB
    # Bytes of one line of `gra`; other formats have at most 1 MiB in a line.
    line: Annotated[Positive, Field(ge=LONGEST_BLOCK)] = LONGEST_BLOCK
    frames: Positive = 2**16  # compressed frames (gzip members, xz streams); more are allowed if they have 1 KiB each on average
    seconds: Finite = Field(default=5.0, gt=0)  # CPU time of Python per MiB of the stored file, at least per one MiB


class Columns(Model):
    """Columns of CSV, TSV, Parquet and SNAP files: names or, in files without a header line such as SNAP's, numbers from 1."""

    # The column of the vertex that an edge leaves; by default `src`, or the first without a header line.
    src: ColumnName | None = Field(default=None, examples=["who"])
    # The column of the vertex that it enters; by default `dst`, or the second without a header line.
    dst: ColumnName | None = Field(default=None, examples=["whom"])
    # The column of its weight; by default `weight`, if the header line has it. `false` reads none, in any format: every arc
    # weighs 1.
    weight: ColumnName | Literal[False] | None = Field(default=None, examples=["minutes"])

    @field_validator("weight", mode="before")
    @classmethod
    def _named_or_false(cls, value: object) -> object:
        if value is not None and value is not False and type(value) not in (str, int):
            raise ValueError("is not a column's name; false reads no weights")
        return value

    @model_validator(mode="after")
    def _differ(self) -> "Columns":
        """Refuse one column for two purposes, such as a weight that is an id."""
        names = [self.src or "src", self.dst or "dst", "weight" if self.weight is None else self.weight]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"src, dst and weight are different columns; {name!r} is given twice")
        return self


class MeasureConfig(Model):
    """What the weights measure: the unit of weights and of their sums in the report, the manifest and the Parquet files."""

    name: str = Field(default="", examples=["travel time"])  # what a weight measures
    unit: str = Field(default="", examples=["seconds"])  # the unit of a weight and of sums of weights

    @property
    def text(self) -> str | None:
        """Unit and name, if one is given: `seconds (travel time)`."""
        return (f"{self.unit} ({self.name})" if self.unit and self.name else self.unit or self.name) or None


class NodeColumns(Model):
    """Columns of the tables that `nodes` and `coordinates` name."""

    vertex: str = Field(default="vertex", examples=["person"])  # the ids of the vertices
    x: str = Field(default="x", examples=["longitude"])  # degrees, east
    y: str = Field(default="y", examples=["latitude"])  # degrees, north
    # The character between the fields of a CSV file, `tab` for a tab; by default a comma, in TSV a tab.
    delimiter: Delimiter | None = Field(default=None, examples=[";"])


class GraphConfig(Model):
    """Where a graph comes from."""

    source: str = Field(examples=["people.csv"])  # a local path, or any URL that fsspec opens
    # The graph's name in tables and reports; by default the source's file name up to its first dot.
    name: str = Field(default="", examples=["people"])
    format: Format = "auto"  # `auto` decides by content and name
    # SHA-256 of the source file's bytes as stored (compressed).
    sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$", examples=["9e7ada38" * 8])
    header: Switch = True  # whether the first line of a CSV or TSV file has the names of the columns
    # The character between fields of a CSV file, `tab` for a tab; by default a comma, in TSV a tab.
    delimiter: Delimiter | None = Field(default=None, examples=[";"])
    # Whether a line of the source is one arc, or an edge in both directions; by default as the format states, otherwise `true`.
    directed: Switch | None = Field(default=None, examples=[False])
    coordinates: str | None = Field(default=None, examples=["people.co"])  # DIMACS `.co` file or table
    # Whether the ids of CSV, TSV and Parquet files are integers or strings: `auto` decides by the first row, or Parquet's types.
    ids: Literal["auto", "integer", "string"] = "auto"
    # CSV, TSV or Parquet file with a column of ids; its other columns are joined to table `vertices`.
    nodes: str | None = Field(default=None, examples=["people-nodes.csv"])
    node_columns: NodeColumns = NodeColumns()
    columns: Columns = Columns()
    weight: MeasureConfig = MeasureConfig()  # name and unit of the weights
    limits: Limits = Limits()

    @field_validator("sha256", mode="before")
    @classmethod
    def _lower(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) else value

    @field_validator("source", "coordinates", "nodes")
    @classmethod
    def _no_password(cls, value: str | None) -> str | None:
        if value and _PASSWORD.search(value):
            raise ValueError("holds a password, which manifests and logs would show; configure it in fsspec instead")
        return value

    @property
    def title(self) -> str:
        """The name, or the source's file name up to its first dot."""
        return (
            self.name
            or redacted(self.source).removesuffix("?***").removesuffix("#***").rstrip("/").rsplit("/", 1)[-1].split(".")[0]
        )
