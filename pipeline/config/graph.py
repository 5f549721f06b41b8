"""The table `[graph]` of a run's configuration, or the file that a run's `graph` names."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, field_validator

from pipeline.config.model import MIB, Model, Positive
from pipeline.redaction import redacted

Format = Literal["auto", "dimacs", "arcs", "snap", "matrix-market", "gra", "pace", "csv", "tsv", "parquet"]
RATIO_FROM = 16 * MIB  # bytes of content from which Limits.ratio applies: less is harmless, and may compress very well
_PASSWORD = re.compile(r"://[^/?#]*:[^/?#]+@")  # in any link of a chained URL, too


class Limits(Model):
    """Bounds on the content of a source file; a file that exceeds one is refused.

    Attributes
    ----------
    bytes : int
        Decompressed size.
    ratio : float
        Decompressed over compressed size (checked from 16 MiB on); for Parquet, its rows' size in memory over the file's.
    edges : int
        Rows of the edge list.
    """

    bytes: Positive = 2**40
    ratio: float = Field(default=200.0, gt=1)
    edges: Positive = 2**36


class Columns(Model):
    """Names of the columns of CSV, TSV and Parquet files. A file without a `weight` column is unweighted."""

    src: str = "src"
    dst: str = "dst"
    weight: str = "weight"


class GraphConfig(Model):
    """Where a graph comes from.

    Attributes
    ----------
    source : str
        A local path, or any URL that fsspec opens.
    name : str
        The graph's name in tables and reports; by default the source's file name up to its first dot.
    format : str
        `auto` decides by content and name.
    sha256 : str or None
        SHA-256 of the source file's bytes as stored (compressed).
    directed : bool or None
        None: as the format states; directed where it does not.
    coordinates : str or None
        DIMACS `.co` file, published as table `coordinates`.
    """

    source: str
    name: str = ""
    format: Format = "auto"
    sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")
    directed: bool | None = None
    coordinates: str | None = None
    columns: Columns = Columns()
    limits: Limits = Limits()

    @field_validator("sha256", mode="before")
    @classmethod
    def _lower(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) else value

    @field_validator("source", "coordinates")
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
