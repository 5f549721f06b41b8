"""A run's configuration: its graph, its stages, where they run, and where the tables go."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field, PrivateAttr, ValidationInfo, WithJsonSchema, field_validator, model_validator

from kernels.registry import ALGORITHMS, BY_NAME
from pipeline.config.changes import ChangesConfig
from pipeline.config.cluster import ClusterConfig, LimitsConfig
from pipeline.config.custom import CustomConfig, each_once
from pipeline.config.expect import ExpectConfig, RejectConfig
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.config.model import (
    Choice,
    LocalFolder,
    Metres,
    Model,
    Natural,
    Snap,
    SnapTo,
    Switch,
    Vertices,
    once,
    url_of,
    without_secret,
)
from pipeline.config.products.places import PlacesConfig
from pipeline.config.products.zones import ZonesConfig, is_zone_file, names_cells
from pipeline.config.stages import QueriesConfig
from pipeline.config.tables import OF_PRODUCTS, OF_STAGES, with_tables
from pipeline.errors import BadConfig
from pipeline.redaction import redacted
from pipeline.suggestions import did_you_mean

STAGES = tuple(algorithm.name for algorithm in ALGORITHMS if algorithm.by_default)  # of a run that names none


def _known(stage: str) -> str:
    if stage not in BY_NAME:
        raise ValueError(f"is not a stage; the stages are {', '.join(BY_NAME)}{did_you_mean(stage, [*BY_NAME])}")
    return stage


StageName = Annotated[str, AfterValidator(_known), WithJsonSchema({"type": "string", "enum": list(BY_NAME)})]


LINK = re.compile(r"(?!(runs|steps)$)[A-Za-z0-9][A-Za-z0-9._-]{0,63}")  # a link to a run in the output folder


# The keys that say what the tables are, each with those of its keys that do not.
_CONTENT: dict[str, set[str]] = {
    "graph": {"name", "sha256", "limits"},
    "layout": {"order", "window", "shards"},
    **{key: set() for key in ("stages", "sources", "snap_to", "places", "zones", *OF_STAGES, "queries", *OF_PRODUCTS, "custom")},
}


@dataclass(frozen=True)
class Origin:
    """Where a configuration comes from."""

    file: str = ""  # the name of its file, without the suffix; empty for options
    changed: tuple[str, ...] = ()  # keys of `RunConfig.content_of` to which options or parameters gave other values than the file


def workplace(url: str) -> Path:
    """The folder in which runs with an output URL work: below `XDG_CACHE_HOME`, or `~/.cache`."""
    name = re.sub("[^A-Za-z0-9]+", "-", redacted(url)).strip("-")[-40:]
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home / "graphmill" / f"{name}-{sha256(url.encode()).hexdigest()[:8]}"


def output_folder(out: Path) -> Path:
    """The folder of the runs of an output: the path itself, or the one in which runs with this output URL work.

    Raises BadConfig for a path with a null character.
    """
    if "\0" in str(out):
        raise BadConfig(f"{out}: has a null character, which no path can have")
    url = url_of(out)
    return workplace(url) if url else out


class _Task(Model):
    """The first keys of a run: its graph, and what is computed on it."""

    graph: GraphConfig
    output: LocalFolder = Field(examples=["out/people"])  # the folder of the tables, which appear in `output/latest/TABLE`
    layout: LayoutConfig = LayoutConfig()
    # Stages to compute, in any order, each at most once. Stages that are not in the default are computed on request only.
    stages: tuple[StageName, ...] = Field(default=STAGES, min_length=1, examples=[[STAGES[0], STAGES[-1]]])
    # Vertices for the stages that have sources: a list of external ids, or of `"LON,LAT"` in degrees for the vertex nearest to a
    # place; or the path of a text file with one of these per line, or of a file of places. Empty: the vertex of highest
    # out-degree, with the smallest id.
    sources: Vertices = Field(default=(), examples=[[1, 151_234]])
    # Largest distance in metres, on the sphere, from a place to the vertex that stands for it; a place farther away is refused.
    # It holds for all places of the run: in `sources`, and in the files of facilities and sources of its tables.
    snap_limit: Metres = Field(default=Snap.limit, examples=[250])
    # Which vertices may stand for a place: those of the `largest` weak component, or `any`, also of a small island.
    snap_to: SnapTo = Snap.to

    # Columns of files of places.
    places: PlacesConfig = PlacesConfig()
    # Columns of files of zones.
    zones: ZonesConfig = ZonesConfig()

    _once = field_validator("stages")(once)

    @field_validator("sources")
    @classmethod
    def _each_once(cls, value: tuple[int | str, ...] | str) -> tuple[int | str, ...] | str:
        return value if isinstance(value, str) else once(value)

    @field_validator("stages")
    @classmethod
    def _in_order(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(sorted(values, key=[*BY_NAME].index))


if TYPE_CHECKING:
    _TaskWithTables = _Task
else:
    _TaskWithTables = with_tables(_Task)  # those of stages and products, which the registry names: `of_stages`, `of_products`


class RunConfig(_TaskWithTables):
    """One run: a graph, its layout, the stages, and where the tables go."""

    # Pairs to answer with the index of stage `reachability`.
    queries: QueriesConfig | None = None
    # Stages that the user wrote in Python; docs/custom-stages.md.
    custom: Annotated[tuple[CustomConfig, ...], AfterValidator(each_once)] = ()
    named: Switch = False  # add a column of names after each column of external ids, if the source's ids are strings
    # Publish table `arcs`, the arcs of the stored graph with their weights, names and lines. By default for a graph of at most
    # 1,000,000 arcs.
    arcs: Switch | None = Field(default=None, examples=[True])
    oracle: Switch = False  # also compare every answer with a second solver, for the stages that have one
    # Where layout, stages and proofs run: `cpu`, `gpu`, or `auto`: the GPU if there is one. The tables do not depend on it.
    backend: Choice = "auto"
    # Name of the link to the run in the output folder. By default `latest`; or, if that is the result of another file or
    # deployment, the name of the run's file, or `manual` if options ask for something else than `latest` has.
    publish_as: str | None = Field(default=None, examples=["weekly"])
    # URL of a folder in object storage, which fsspec can write, to which each published run is copied. If `output` is a URL, it
    # takes the place of this key, and the run works in a folder below the user's cache.
    publish_to: str | None = Field(default=None, examples=["s3://analytics/people"])
    changes: ChangesConfig = ChangesConfig()  # change tables
    reject: RejectConfig = RejectConfig()  # bad rows of the source
    expect: ExpectConfig = ExpectConfig()  # limits of a result that is published
    # Number of runs of this link that are kept; 0 keeps all. Each is kept for at least an hour after the next one was published.
    keep: Natural = Field(default=7, examples=[30])
    limits: LimitsConfig = LimitsConfig()  # of memory
    cluster: ClusterConfig = ClusterConfig()  # which workers run the tasks of stages and proofs. The tables do not depend on it.

    _origin: Origin = PrivateAttr(default=Origin())

    @property
    def of_stages(self) -> dict[str, Model]:
        """The tables of stages, by their names, also of stages that do not run."""
        return {name: table for name in OF_STAGES if (table := getattr(self, name))}

    @property
    def of_products(self) -> dict[str, Model]:
        """The tables of the products that are asked for, by their names."""
        return {name: table for name in OF_PRODUCTS if (table := getattr(self, name))}

    @property
    def has_seeds(self) -> bool:
        """Whether a stage that runs has seeds."""
        return any(getattr(table, "seeds", ()) for table in self.of_running_stages.values())

    @property
    def listed_sources(self) -> tuple[int | str, ...]:
        """The sources, unless they are the places of a file."""
        return () if isinstance(self.sources, str) else self.sources

    @property
    def of_running_stages(self) -> dict[str, Model]:
        """The tables of the stages that run, by their names."""
        return {stage: table for stage, table in self.of_stages.items() if stage in self.stages}

    @property
    def lists_by_key(self) -> dict[str, tuple[int | str, ...]]:
        """The vertices that are listed and not in a file, by the keys that list them."""
        tables = self.of_running_stages.items()
        return {"sources": self.listed_sources} | {
            f"{name}.{key}": listed for name, table in tables for key, listed in table.vertex_lists.items()
        }

    @property
    def files_by_key(self) -> dict[str, str]:
        """The files that name vertices or places, by the keys that name them."""
        tables = (self.of_running_stages | self.of_products).items()
        files = {f"{name}.{key}": file for name, table in tables for key, file in table.vertex_files.items()}
        return {"sources": self.sources} | files if isinstance(self.sources, str) else files

    @property
    def files_of_vertices(self) -> list[str]:
        """These files, and cells of H3."""
        return [*self.files_by_key.values()]

    @property
    def zone_files(self) -> dict[str, str]:
        """The files of zones, by the keys that name them."""
        zones = {f"{name}.zone": getattr(table, "zone", None) for name, table in self.of_products.items()}
        return {key: zone for key, zone in zones.items() if zone and is_zone_file(zone)}

    @property
    def snap(self) -> Snap:
        """How the vertices of places are found."""
        return Snap(self.snap_limit, self.snap_to)

    @property
    def pairs_by_key(self) -> dict[str, str]:
        """The files of pairs, of queries and of paths, by the keys that name them."""
        tables = ({"queries": self.queries} if self.queries else {}) | self.of_running_stages | self.of_products
        return {f"{name}.{key}": file for name, table in tables.items() for key, file in table.pair_files.items()}

    @property
    def files_of_pairs(self) -> list[str]:
        """These files."""
        return [*self.pairs_by_key.values()]

    @property
    def files(self) -> list[str]:
        """Every file that a run reads, besides its configuration."""
        graph = self.graph
        read = (*graph.entries, graph.coordinates, graph.nodes, *self.files_of_pairs)
        read = (*read, *(file for file in self.files_of_vertices if not names_cells(file)))
        read = (*read, *self.zone_files.values())
        return [*filter(None, read), *(stage.file for stage in self.custom)]

    @property
    def origin(self) -> Origin:
        """Where the configuration comes from."""
        return self._origin

    def from_file(self, file: str, original: "RunConfig") -> "RunConfig":
        """The same configuration, marked as that of a file with content `original`, with changes."""
        now, before = (self.content_of(config.model_dump(mode="json")) for config in (self, original))
        copy = self.model_copy()
        copy._origin = Origin(file, tuple(key for key in now if now[key] != before[key]))
        return copy

    @staticmethod
    def content_of(values: Mapping[str, Any]) -> dict[str, Any]:
        """The values of a configuration, as JSON, on which the tables depend."""
        kept = {key: (values.get(key), left_out) for key, left_out in _CONTENT.items()}
        return {
            key: {name: part for name, part in value.items() if name not in left_out} if isinstance(value, dict) else value
            for key, (value, left_out) in kept.items()
        }

    @model_validator(mode="before")
    @classmethod
    def _work_here(cls, values: Any) -> Any:
        url = url_of(values.get("output")) if isinstance(values, dict) else None
        return {**values, "output": workplace(url), "publish_to": values.get("publish_to") or url} if url else values

    @field_validator("publish_to")
    @classmethod
    def _is_a_url(cls, value: str | None) -> str | None:
        if value is not None and not url_of(value):
            raise ValueError("is not a URL such as s3://bucket/folder")
        return without_secret(url_of(value))

    @field_validator("publish_as")
    @classmethod
    def _is_a_name(cls, value: str | None) -> str | None:
        if value is not None and not LINK.fullmatch(value):
            raise ValueError("must consist of letters, digits, dots, hyphens and underscores, and must not be runs or steps")
        return value

    @field_validator("queries")
    @classmethod
    def _have_an_index(cls, value: QueriesConfig | None, info: ValidationInfo) -> QueriesConfig | None:
        indexed = [name for name, algorithm in BY_NAME.items() if algorithm.has_index]
        if value and not {*indexed} & {*info.data.get("stages", indexed)}:
            raise ValueError(f"queries need stage {' or '.join(indexed)}")
        return value
