"""What a run is asked for, read from TOML and checked once. An unknown key, a wrong type or a bad value is a BadConfig.

Paths in a file are relative to that file; `graph` in a run file is either a table or the path of a graph file.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import AfterValidator, Field, ValidationError, ValidationInfo, field_validator

from pipeline.config.cluster import ClusterConfig
from pipeline.config.model import Model, Natural, Positive
from pipeline.errors import BadConfig

Format = Literal["auto", "dimacs", "arcs", "snap", "matrix-market", "gra", "pace", "csv", "tsv", "parquet"]
Choice = Literal["auto", "cpu", "gpu"]
StageName = Literal["bfs", "sssp", "mst", "wcc", "scc", "pagerank", "reachability"]
STAGES: tuple[StageName, ...] = get_args(StageName)
MIB = 2**20
RATIO_FROM = 16 * MIB  # bytes of content from which Limits.ratio applies: less is harmless, and may compress very well
_URL = re.compile("[a-zA-Z][a-zA-Z0-9+.-]+:/")
_PASSWORD = re.compile(r"://[^/?#]*:[^/?#]+@")  # in any link of a chained URL, too

M = TypeVar("M", bound=Model)
VertexId = Annotated[Natural, Field(lt=2**63)]


class Limits(Model):
    """Bounds on what a source file may turn into; crossing one refuses the file.

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
        What tables and reports call it; by default the source's file name up to its first dot.
    format : str
        `auto` decides by content and name.
    sha256 : str or None
        Of the source file's bytes as they lie there (compressed).
    directed : bool or None
        None takes what the format says of itself; text formats that say nothing are directed.
    coordinates : str or None
        DIMACS `.co` file: becomes the vertex-attribute table.
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
            raise ValueError("holds a password, which manifests and logs would show; give it to fsspec by its own configuration")
        return value

    @property
    def title(self) -> str:
        """The name, or the source's file name up to its first dot."""
        return self.name or self.source.rstrip("/").rsplit("/", 1)[-1].split(".")[0]


class LayoutConfig(Model):
    """How the stored graph is cleaned and ordered.

    Attributes
    ----------
    order : str
        `degree`: descending out-degree. `windowed`: the same within windows of `window` vertices in source order, which
        keeps a road network's locality (rows of 32 arcs and more still come first). `source`: ascending external id.
    self_loops : str
        `drop` (a vertex that only self-loops touch stays) or `keep`.
    parallel_arcs : str
        `lightest` keeps the least weight of arcs with equal ends; `keep` keeps all.
    symmetrise : bool
        Add the reverse of every arc. An undirected graph always has both.
    shards : int
        Number of contiguous row ranges of about equal arc count; where the graph lies over ranks, `[cluster] shards` is.
    """

    order: Literal["degree", "windowed", "source"] = "degree"
    window: Positive = 4096
    self_loops: Literal["drop", "keep"] = "drop"
    parallel_arcs: Literal["lightest", "keep"] = "lightest"
    symmetrise: bool = False
    shards: Positive = 1


class ReachabilityConfig(Model):
    """What the labels of stage `reachability` are like; `kernels.reachability` defines them.

    Attributes
    ----------
    dimensions : int
        Interval labels a component.
    seed : int
        The labels of every dimension but 0 depend on it.
    method : str
        `tree`, or the thesis's `dfs`.
    """

    dimensions: Positive = 3
    seed: Annotated[Natural, Field(lt=2**64)] = 0
    method: Literal["tree", "dfs"] = "tree"


class QueriesConfig(Model):
    """Pairs of vertices: does a path lead from the one to the other? Answered as table `reached`.

    Attributes
    ----------
    pairs : str
        A Parquet file of this machine with columns `src`, `dst`.
    unknown : str
        What a vertex that the graph does not have is: an `error`, or a `null` in the answer.
    """

    pairs: str
    unknown: Literal["error", "null"] = "error"


def _local(value: Path) -> Path:
    """Absolute, because Arrow takes a relative path with a colon for a URL."""
    if _URL.match(str(value)):
        raise ValueError("is a URL, where a folder of this machine is due")
    return value.absolute()


LocalFolder = Annotated[Path, AfterValidator(_local)]


class QueryOptions(QueriesConfig):
    """What the command `reach` is asked for; the meaning is `RunConfig`'s."""

    output: LocalFolder
    oracle: bool = False
    backend: Choice = "auto"
    cluster: ClusterConfig = ClusterConfig()


class RunConfig(Model):
    """One run: a graph, its layout, the stages, and where the tables go.

    Attributes
    ----------
    output : Path
        Tables appear in `output/latest/TABLE`.
    stages : tuple of str
        In any order; each once.
    sources : tuple of int
        External ids for `bfs` and `sssp`; empty takes the vertex of highest out-degree, the smallest id among equals.
    reachability : ReachabilityConfig
        For stage `reachability`.
    queries : QueriesConfig or None
        Pairs to answer with that stage's index.
    oracle : bool
        Also compare every answer with a second solver.
    backend : str
        Where layout, stages and proofs run: `cpu`, `gpu`, or `auto`, the GPU where there is one. The tables do not depend on it.
    keep : int
        How many runs stay in the output folder; 0 keeps all.
    cluster : ClusterConfig
        Where the pieces of stages and proofs run. The tables do not depend on it.
    """

    graph: GraphConfig
    output: LocalFolder
    layout: LayoutConfig = LayoutConfig()
    stages: tuple[StageName, ...] = Field(default=STAGES, min_length=1)
    sources: tuple[VertexId, ...] = ()
    reachability: ReachabilityConfig = ReachabilityConfig()
    queries: QueriesConfig | None = None
    oracle: bool = False
    backend: Choice = "auto"
    keep: Natural = 0
    cluster: ClusterConfig = ClusterConfig()

    @field_validator("stages", "sources")
    @classmethod
    def _once(cls, values: tuple[Any, ...]) -> tuple[Any, ...]:
        for value in values:
            if values.count(value) > 1:
                raise ValueError(f"{value} is given twice")
        return values

    @field_validator("queries")
    @classmethod
    def _have_an_index(cls, value: QueriesConfig | None, info: ValidationInfo) -> QueriesConfig | None:
        if value and "reachability" not in info.data.get("stages", ("reachability",)):
            raise ValueError("queries need stage reachability")
        return value


def load_run(path: Path, tables: Mapping[str, Mapping[str, Any]] | None = None, **changes: Any) -> RunConfig:
    """Read a run's TOML file. `changes` replace its top-level keys, `tables` single keys of its tables. Raises BadConfig."""
    content = _read_toml(path)
    if isinstance(content.get("output"), str):
        content["output"] = Path(os.path.normpath(path.parent / content["output"]))
    graph = content.get("graph")
    if isinstance(graph, str):
        content["graph"] = _read_graph(path, path.parent / graph)
    elif isinstance(graph, dict):
        content["graph"] = _anchored(graph, path.parent)
    for name in ("queries", "cluster"):
        if isinstance(content.get(name), dict):
            content[name] = _anchored(content[name], path.parent)
    for name, table in (tables or {}).items():
        if isinstance(content.get(name, {}), dict):
            content[name] = {**content.get(name, {}), **table}
    return run_config(str(path), **(content | changes))


def load_cluster(path: Path) -> ClusterConfig:
    """Read the table `[cluster]` of a run's TOML file, and nothing else of it. Raises BadConfig."""
    table = _read_toml(path).get("cluster", {})
    if not isinstance(table, dict):
        raise BadConfig(f"{path}: cluster: is no table")
    return checked(ClusterConfig, f"{path}: cluster", **_anchored(table, path.parent))


def run_config(origin: str, **content: Any) -> RunConfig:
    """Build a run's configuration; `origin` names where it came from in an error. Raises BadConfig."""
    return checked(RunConfig, origin, **content)


def checked(model: type[M], origin: str, **content: Any) -> M:
    """Build any part of a configuration; as `run_config`."""
    try:
        return model(**content)
    except ValidationError as error:
        lines = [f"{'.'.join(map(str, problem['loc']))}: {_sentence(problem)}" for problem in error.errors()]
        raise BadConfig(f"{origin}: " + "; ".join(lines)) from None


def _sentence(problem: Any) -> str:
    if problem["type"] == "extra_forbidden":
        return "unknown key"
    if problem["type"] == "missing":
        return "is missing"
    said: str = problem["msg"].removeprefix("Value error, ")
    return said if "password" in said else f"{said} (got {str(problem['input'])[:80]})"


def _read_graph(run: Path, path: Path) -> dict[str, Any]:
    """Read the file that a run's `graph = "..."` names: a table, not the graph."""
    try:
        return _anchored(_read_toml(path), path.parent)
    except _NoToml as error:
        raise BadConfig(f"{run}: graph: {error}; the file of a graph itself is `source` below [graph]") from None


class _NoToml(BadConfig):
    """A file with something else in it."""


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadConfig(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise _NoToml(f"{path}: is no TOML file: byte {error.start} is not of UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise _NoToml(f"{path}: is no TOML file: {error}") from None


def _anchored(table: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Make the relative paths of a table relative to its file's folder."""
    paths = ("source", "coordinates", "pairs", "tls_ca", "tls_cert", "tls_key")
    local = {key: table[key] for key in paths if isinstance(table.get(key), str) and "://" not in table[key]}
    return table | {key: os.path.normpath(folder / value) for key, value in local.items()}
