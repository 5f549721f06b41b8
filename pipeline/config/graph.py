"""The table `[graph]` of a run's configuration, or the file that a run's `graph` names."""

import codecs
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field, PrivateAttr, field_validator, model_validator

from pipeline.config.formats import FORMATS
from pipeline.config.model import MIB, ColumnName, CrsName, Entries, Finite, Model, Positive, Switch, is_utf8, once
from pipeline.config.roads import OsmConfig
from pipeline.redaction import redacted

if TYPE_CHECKING:
    Format = str
else:
    Format = Literal["auto", *FORMATS]
Parallel = Literal["lightest", "heaviest", "sum", "count", "first", "last", "keep", "error"]
SLOWEST, FASTEST = 0.01, 10_000.0  # a speed, in any unit
LONGEST_BLOCK = 16 * MIB  # decompressed bytes in memory at a time
RATIO_FROM = 16 * MIB  # bytes of content from which Limits.ratio applies: less is harmless, and may compress very well


def _single(value: str) -> str:
    value = "\t" if value in ("tab", "\\t") else value
    if not re.fullmatch(r"[\t -~]", value) or re.fullmatch(r'["\w]', value):
        raise ValueError("must be one ASCII character that is not a letter, a digit or a quote; `tab` stands for a tab")
    return value


def _separator(value: str) -> str:
    if len(value) != 1 or value.isalnum() or value in '+-"':
        raise ValueError("must be one character that is not a letter, a digit, a sign or a quote")
    return value


def _of_text(value: str) -> str:
    try:
        known = codecs.lookup(value).name not in _NOT_OF_TEXT and "1\n".encode(value)
    except LookupError:
        known = False
    if not known:
        raise ValueError("is not an encoding of texts that Python knows, such as latin-1, cp1252 or utf-16")
    return value


Delimiter = Annotated[str, AfterValidator(_single)]
Decimal = Literal[".", ","]
Separator = Annotated[str, AfterValidator(_separator)]
Encoding = Annotated[str, AfterValidator(_of_text)]
_NOT_OF_TEXT = {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined"}  # codecs of Python's own forms
_USER = re.compile(r"://([^/?#]*)@")  # in any link of a chained URL, too


def _different_signs(decimal: str, thousands: str | None) -> None:
    if decimal == thousands:
        raise ValueError(f"decimal and thousands must be different characters; both are {decimal!r}")


class Limits(Model):
    """Bounds on the content of a source; one that exceeds them is refused."""

    bytes: Positive = 2**40  # decompressed bytes; for Parquet, bytes of the rows in memory
    # These bytes over the stored bytes, from 16 MiB of content on. Also 8 bytes for each vertex that a text header declares, from
    # 65,537 vertices on.
    ratio: Finite = Field(default=200.0, gt=1)
    edges: Positive = 2**36  # rows of the edge list
    columns: Positive = 10_000  # columns of a CSV, TSV or Parquet file
    # Bytes before the first line of data, with comments and blank lines. A Parquet footer may have as many, or 1 % of its file.
    header: Positive = MIB
    # Bytes of a line of `gra`; a line of any other format has at most 1 MiB.
    line: Annotated[Positive, Field(ge=LONGEST_BLOCK)] = LONGEST_BLOCK
    # Compressed frames (gzip members, xz streams), unless they have 1 KiB each on average; pages of a Parquet file, unless they
    # have 64 rows each.
    frames: Positive = 2**16
    seconds: Finite = Field(default=5.0, gt=0)  # CPU seconds of Python per MiB of the stored file; a smaller file counts as 1 MiB


class Columns(Model):
    """Columns of CSV, TSV, Parquet, SNAP and KONECT files: names or, without a header line as in SNAP, numbers from 1."""

    # The column of the vertex that an edge leaves; by default `src`, or the first column if there is no header line.
    src: ColumnName | None = Field(default=None, examples=["who"])
    # The column of the vertex that an edge enters; by default `dst`, or the second column if there is no header line.
    dst: ColumnName | None = Field(default=None, examples=["whom"])
    # The column of the weights; by default `weight`, if the header line has it. With `false` weights are ignored, in any format:
    # every arc weighs 1.
    weight: ColumnName | Literal[False] | None = Field(default=None, examples=["minutes"])
    # The column that says in which directions a row (CSV, TSV, Parquet) is open: `yes`, `-1`, `no`, `FT`, `B`, ... By default
    # `directed` decides.
    oneway: ColumnName | None = Field(default=None, examples=["oneway"])
    # The column of the weights from `dst` to `src`; a negative or absent one closes that direction.
    reverse_weight: ColumnName | None = Field(default=None, examples=["reverse_cost"])
    # The column of speeds (CSV, TSV, Parquet). `weight` then has lengths, and the weight of a row is its travel time, in whole
    # milliseconds, rounded half to even.
    speed: ColumnName | None = Field(default=None, examples=["maxspeed"])
    # The column of numbers, dates or texts that says which of parallel rows is the `first` or `last`; by default their order in
    # the source.
    order: ColumnName | None = Field(default=None, examples=["time"])
    _partition: Mapping[str, str] = PrivateAttr(default_factory=dict)

    @property
    def partition(self) -> Mapping[str, str]:
        """The keys of the partition that a file is in, columns that the file itself lacks, and their values."""
        return self._partition

    def in_partition(self, partition: Mapping[str, str]) -> "Columns":
        """The same columns for a file in a partition."""
        copy = self.model_copy()
        copy._partition = partition
        return copy

    @field_validator("weight", mode="before")
    @classmethod
    def _named_or_false(cls, value: object) -> object:
        if value is not None and value is not False and type(value) not in (str, int):
            raise ValueError("is not the name of a column; `false` ignores weights")
        return value

    @model_validator(mode="after")
    def _differ(self) -> "Columns":
        """Refuse one column for two purposes, such as a weight that is an id."""
        if self.reverse_weight and self.weight is False:
            raise ValueError("reverse_weight needs weights, and `weight = false` ignores them; leave one of both out")
        if self.speed and self.weight is False:
            raise ValueError("speed needs lengths as weights, and `weight = false` ignores them; leave one of both out")
        names = [self.src or "src", self.dst or "dst", "weight" if self.weight is None else self.weight]
        names += [name for name in (self.oneway, self.reverse_weight, self.speed, self.order) if name]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"{', '.join(Columns.model_fields)} must be different columns; {name!r} is given twice")
        return self

    @property
    def have_directions(self) -> bool:
        """Whether each row says in which directions it is open."""
        return bool(self.oneway or self.reverse_weight)


class OnewayValues(Model):
    """What values of the column `oneway` mean; others have their usual meaning, or are refused."""

    forward: tuple[str, ...] = Field(default=(), examples=[["Y"]])  # open from `src` to `dst` only
    reverse: tuple[str, ...] = Field(default=(), examples=[["R"]])  # open from `dst` to `src` only
    both: tuple[str, ...] = Field(default=(), examples=[["N"]])  # open in both directions
    closed: tuple[str, ...] = Field(default=(), examples=[["reversible"]])  # closed in both directions

    @model_validator(mode="after")
    def _once(self) -> "OnewayValues":
        once((*self.forward, *self.reverse, *self.both, *self.closed))
        return self


class MeasureConfig(Model):
    """The quantity and unit of the weights, which the report, the manifest and the Parquet files show."""

    name: str = Field(default="", examples=["travel time"])  # the quantity that a weight measures
    unit: str = Field(default="", examples=["seconds"])  # the unit of a weight and of sums of weights

    @property
    def text(self) -> str | None:
        """Unit and name, if one is given: `seconds (travel time)`."""
        return (f"{self.unit} ({self.name})" if self.unit and self.name else self.unit or self.name) or None


class SpeedConfig(Model):
    """How the column `speed` and its lengths are read; the weight of a row is then its length over its speed, in milliseconds."""

    # The speed, in `unit`, of rows that state none: the value is empty, or `none`, `walk`, `RO:urban`, ...; without it they are
    # refused.
    default: Annotated[Finite, Field(ge=SLOWEST, le=FASTEST)] | None = Field(default=None, examples=[50])
    unit: Literal["km/h", "mph", "m/s"] = "km/h"  # of speeds that state none
    length_unit: Literal["m", "km", "mi", "ft"] = "m"  # of the column `weight`, which has the lengths


class NodeColumns(Model):
    """Columns of the files that `nodes` and `coordinates` name."""

    # The ids of the vertices; by default `vertex`, or else the only one of `id`, `node_id` and `osmid`, or else of `vertex_id`,
    # `nodeid`, `osm_id`, `node`, `junction`, `crossing`, `person` and `user`, the last four also with `_id`.
    vertex: ColumnName | None = Field(default=None, examples=["person"])
    # Degrees, east, or what `crs` below `[graph]` states; by default `x`, or else the only one of `lon`, `lng`, `long` and
    # `longitude`.
    x: ColumnName | None = Field(default=None, examples=["easting"])
    # Degrees, north; by default `y`, or else the only one of `lat` and `latitude`.
    y: ColumnName | None = Field(default=None, examples=["northing"])
    declare: Switch = False  # whether each row of `nodes` is a vertex, also without an edge
    # The character between the fields of a CSV file, `tab` for a tab; by default a comma, in TSV a tab.
    delimiter: Delimiter | None = Field(default=None, examples=[";"])
    encoding: Encoding | None = Field(default=None, examples=["cp1252"])  # as in `[graph]`
    decimal: Decimal = "."  # as in `[graph]`
    thousands: Separator | None = Field(default=None, examples=["."])  # as in `[graph]`
    null: tuple[str, ...] = Field(default=(), examples=[["NA", "-"]])  # as in `[graph]`

    @model_validator(mode="after")
    def _has_different_signs(self) -> "NodeColumns":
        _different_signs(self.decimal, self.thousands)
        return self


class GraphConfig(Model):
    """Where a graph comes from."""

    # A local path, or any URL that fsspec opens: of a file, of a folder with files, or with `*` for several; or a list of these.
    source: str | Entries = Field(examples=["people.csv"])
    # The graph's name in tables and reports; by default the source's file name up to its first dot.
    name: str = Field(default="", examples=["people"])
    format: Format = "auto"  # format of the source; `auto` decides by content and name
    # Expected SHA-256 of the source file as stored, that is, compressed.
    sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$", examples=["9e7ada38" * 8])
    header: Switch = True  # whether the first line of a CSV or TSV file has the names of the columns
    # The character between fields of a CSV file, `tab` for a tab; by default a comma, in TSV a tab.
    delimiter: Delimiter | None = Field(default=None, examples=[";"])
    encoding: Encoding | None = Field(default=None, examples=["cp1252"])  # of a CSV, TSV, SNAP or KONECT file; by default UTF-8
    decimal: Decimal = "."  # the decimal sign of weights in CSV and TSV
    # The character between groups of three digits of weights in CSV and TSV; by default none.
    thousands: Separator | None = Field(default=None, examples=["."])
    # Texts in CSV and TSV that mean "no value", as an empty field does.
    null: tuple[str, ...] = Field(default=(), examples=[["NA", "-"]])
    # Whether a line of the source is one arc (`true`) or an edge in both directions; by default as the format states, or `true`.
    directed: Switch | None = Field(default=None, examples=[True])
    # What becomes of several rows with the same `src` and `dst` (in an undirected graph also the other way round): the
    # `lightest`, `heaviest`, `first` or `last` of them is the arc; it weighs their `sum` or `count`; `keep` keeps each as an arc;
    # `error` refuses different weights. By default `lightest`, and stage `max_flow` adds their capacities.
    parallel: Parallel | None = Field(default=None, examples=["sum"])
    coordinates: str | None = Field(default=None, examples=["people.co"])  # DIMACS `.co` file, or CSV, TSV or Parquet file
    # Coordinate reference system of `coordinates` in a CSV, TSV or Parquet file, as PROJ knows it; by default degrees (WGS 84).
    crs: CrsName | None = Field(default=None, examples=["EPSG:2263"])
    # Type of the ids in CSV, TSV, SNAP, KONECT and Parquet files. `auto` decides by the column types of Parquet, and by the first
    # row of CSV and TSV, where also another form of an integer in any row, such as 007, makes ids strings.
    ids: Literal["auto", "integer", "string"] = "auto"
    # CSV, TSV or Parquet file with a column of ids; its other columns are joined to table `vertices`.
    nodes: str | None = Field(default=None, examples=["people-nodes.csv"])
    node_columns: NodeColumns = NodeColumns()
    columns: Columns = Columns()
    oneway: OnewayValues = OnewayValues()
    # Whether folders named `KEY=VALUE` around the files of a source are partitions, so that a column KEY has VALUE in each row.
    partitions: Switch = True
    weight: MeasureConfig = MeasureConfig()  # name and unit of the weights
    speed: SpeedConfig = SpeedConfig()
    osm: OsmConfig = OsmConfig()
    limits: Limits = Limits()

    @field_validator("sha256", mode="before")
    @classmethod
    def _lower(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) else value

    @field_validator("name")
    @classmethod
    def _is_text(cls, value: str) -> str:
        if not is_utf8(value):
            raise ValueError("is not UTF-8")
        return value

    @field_validator("source", "coordinates", "nodes")
    @classmethod
    def _no_password(cls, value: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
        if any(":" in user for entry in (value if isinstance(value, tuple) else [value or ""]) for user in _USER.findall(entry)):
            raise ValueError("contains a password, which manifests and logs would show; configure it in fsspec instead")
        return value

    @model_validator(mode="after")
    def _has_one_direction(self) -> "GraphConfig":
        if self.directed is False and self.columns.have_directions:
            raise ValueError("directed is false, but a column says in which directions each row is open; leave one of both out")
        return self

    @model_validator(mode="after")
    def _has_different_signs(self) -> "GraphConfig":
        _different_signs(self.decimal, self.thousands)
        return self

    @property
    def entries(self) -> tuple[str, ...]:
        """What the source names: files, folders and patterns."""
        return (self.source,) if isinstance(self.source, str) else self.source

    @property
    def measure(self) -> str | None:
        """Unit and name of the weights, if they are known, as they are of travel times."""
        if not self.columns.speed:
            return self.weight.text
        return MeasureConfig(name=self.weight.name or "travel time", unit="milliseconds").text

    @property
    def title(self) -> str:
        """The name, or the source's file name up to its first dot; of a pattern the name of its folder."""
        path = redacted(self.entries[0]).removesuffix("?***").removesuffix("#***").rstrip("/")
        *folders, name = path.split("/")
        if ("*" in name or "?" in name) and not Path(path).exists():
            name = next((folder for folder in reversed(folders) if folder and "*" not in folder), name)
        return self.name or name.split(".")[0]
