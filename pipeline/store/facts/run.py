"""The facts of a published run."""

from collections.abc import Sequence
from typing import Any

from pipeline.store.facts import CheckFacts, CountedFacts, GraphFacts, MergeFacts, PathFacts, ProofFacts, QueryFacts
from pipeline.store.facts.base import Facts
from pipeline.store.facts.changes import ChangesFacts
from pipeline.store.facts.roads import AttachFacts, RoadFacts
from pipeline.store.facts.sources import DirectionCounts, RejectFacts, SourceFacts, TravelTimeFacts


class TableFacts(Facts):
    """A published table: its rows, its columns as `pipeline.tables.files.describe`, and its files in the run."""

    rows: int
    columns: list[dict[str, Any]]
    files: list[str]


class StepFacts(Facts):
    """A step as its run shows it: its wall time, whether it was reused, its key, and where it was computed."""

    seconds: float
    reused: bool
    key: str
    created: str
    backend: str | None = None  # absent
    shards: int | None = None  # absent
    supersteps: int | None = None  # absent
    whole_graph: int | None = None  # absent
    on_cpu: int | None = None  # absent
    arcs_in: str | None = None  # absent


class NamedGraphFacts(GraphFacts):
    """The graph of a run."""

    name: str


class InputFacts(Facts):
    """How a run read its source, see `steps.publication.facts.input_of`; fields of the same name are those of `EdgeFacts`."""

    source: SourceFacts
    coordinates: SourceFacts | None
    nodes: SourceFacts | None
    format: str
    columns: dict[str, str] | None
    ignored_columns: list[str]
    directed: bool
    directed_by: str
    weight: str | None
    counted: CountedFacts | None = None  # absent unless weights with decimals are counted as integers
    edges: int
    directions: DirectionCounts | None = None  # absent unless the rows say in which directions they are open
    travel_times: TravelTimeFacts | None = None  # absent unless weights were made from lengths and speeds
    roads: RoadFacts | None = None  # absent unless the source is OpenStreetMap or Overture
    rejected: RejectFacts | None = None  # absent unless the run allows bad rows
    stated: dict[str, int] | None = None  # absent, or what the file says besides edges: figures by their names
    # node_rows, unmatched_node_rows: absent without a table of nodes: its rows, and how many of them have the id of no vertex.
    node_rows: int | None = None
    unmatched_node_rows: int | None = None
    measure: str | None = None
    # How many were found, and whether they are in the stored graph.
    self_loops: int
    self_loops_kept: bool
    parallel_arcs: int
    parallel_arcs_kept: bool
    parallel: str | None = None  # absent, or the rule for parallel rows, if that is not `lightest`
    merged: MergeFacts | None = None  # absent unless this rule merged rows
    attached: AttachFacts | None = None  # absent unless places were attached to streets
    capacities: MergeFacts | None = None  # absent unless a stage added parallel rows, of which the graph has the lightest
    sources: list[int] | None  # of the stages that have sources; null if none of them ran
    source_names: list[str] | None = None  # if the source's ids are strings
    default_source: str | None  # why the only source was chosen; null if the sources were given


class PlaceFacts(Facts):
    """A place that a configuration names: the key that names it or its file, and the vertex that stands for it."""

    key: str
    id: str | None = None  # of a place in a file of places; otherwise absent
    place: list[float]  # degrees of longitude and latitude
    vertex: int
    name: str | None = None  # of the vertex, if the source's ids are strings; otherwise absent
    metres: float  # from the place to the vertex


class PlaceTableFacts(Facts):
    """Table `places`, see `pipeline.steps.places.table`: its rows, in all and by the keys that name the files.

    `farthest` is the place that is farthest from its vertex; null if no place has coordinates.
    """

    rows: int
    files: dict[str, int]
    farthest: PlaceFacts | None
    proof: CheckFacts


def listing(places: Sequence[PlaceFacts]) -> dict[str, Any]:
    """Parameter `places` of a step whose manifest lists places; without places there is none."""
    return {"places": [place.stored() for place in places]} if places else {}


class ConfigurationFacts(Facts):
    """The configuration of a run; see `pipeline.config.run.Origin`. `values` are those of all keys, URLs without secrets."""

    file: str
    changed: list[str]
    values: dict[str, Any]


class CustomStageFacts(Facts):
    """A stage that the user wrote: its file, the SHA-256 of its text, its options, and how its table was proved, if it was."""

    file: str
    sha256: str
    options: dict[str, Any]
    proved: str


class SinceFacts(ChangesFacts):
    """The change tables of a run, and the older run with which it is compared."""

    run: str


class RunFacts(Facts):
    """A published run, see `pipeline.steps.publication.publish.publish`; proofs by stage, and tables and steps by name."""

    run: str
    published_as: str  # the output folder's link that named it first
    configuration: ConfigurationFacts
    input: InputFacts
    graph: NamedGraphFacts
    tables: dict[str, TableFacts]
    proofs: dict[str, ProofFacts]
    steps: dict[str, StepFacts]
    reached: QueryFacts | None
    paths: PathFacts | None = None  # absent
    places: list[PlaceFacts] | None = None  # absent without places that are no rows of table `places`
    placed: PlaceTableFacts | None = None  # absent without files of places
    changes: SinceFacts | None = None  # absent without change tables
    custom: dict[str, CustomStageFacts] | None = None  # absent without stages of the user's
    figures: dict[str, int | float]  # what the report compares with the last run's
    backend: str
    versions: dict[str, Any]
    machine: dict[str, Any]
