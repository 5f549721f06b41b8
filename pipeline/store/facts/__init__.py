"""The facts of each step: the types in which steps write them into a manifest and others read them.

A field without a value is null. A field whose comment is `absent` is not in the manifest if it does not apply.
"""

from pathlib import Path
from typing import Any

from pydantic import Field

from pipeline.store.facts.base import Facts
from pipeline.store.facts.roads import AttachFacts, RoadFacts, SplitFacts
from pipeline.store.facts.sources import CoordinateFacts, DirectionCounts, RejectFacts, SourceFacts, TravelTimeFacts
from pipeline.store.manifest import Folder


class ReferenceFacts(Facts):
    """What has the rows of an edge list: the absolute path of a Parquet file, or of a source of several; its columns' names."""

    path: str
    columns: dict[str, str]


class CheckFacts(Facts):
    """The rules that held for an answer or a stored graph, and the seconds that checking them took."""

    rules: list[str]
    seconds: float
    solver: str | None = None  # absent; of an oracle: `cuGraph`, which solves on a GPU, or another, on the CPU
    on_cpu: int | None = None  # absent; how often the CPU took over from the GPU, because the graph is deep


class MergeFacts(Facts):
    """What became of parallel rows by a rule, see `pipeline.steps.parallel`; self-loops are in none of the other counts."""

    rule: str
    order: str | None = None  # absent unless a column says which row is the first or last
    rows: int
    pairs: int  # different ends of rows, each of which is an arc or, of an undirected graph, an edge
    repeated: int  # pairs that have several rows
    most: int  # rows of one pair
    self_loops: int  # rows
    mirrored: bool  # whether each pair of an undirected graph has as many rows in one direction as in the other
    proof: CheckFacts | None = None  # absent while it is being proved


class EdgeFacts(Facts):
    """An edge list, see `pipeline.ingest.ingest`; `weight` is an Arrow type.

    `directed_by` is "configuration", "file" or "format": what says so. `columns` are the names in the file of `src`, `dst` and
    perhaps `weight`, `oneway` and `reverse_weight`, numbers from 1 if it has no header line; null for a format without columns.
    `declared_vertices` ids from `first_id` on exist also without an edge. `largest` has the largest value of each column of
    integers, 0 without edges.
    """

    format: str
    directed: bool
    directed_by: str
    columns: dict[str, str] | None
    ignored_columns: list[str]
    weight: str | None
    edges: int
    largest: dict[str, int]
    first_id: int | None
    declared_vertices: int | None
    source: SourceFacts
    text_bytes: int | None
    nodes: SourceFacts | None = None  # absent without a table of nodes
    node_rows: int | None = None  # absent without a table of nodes: its rows
    node_ids: str | None = None  # absent without a table of nodes: its column of ids
    measure: str | None = None  # what the weights measure, if the configuration says it, otherwise absent; arcs without weights
    name_bytes: int | None = None  # absent where ids are integers; otherwise the length of all names (`pipeline.store.names`)
    refers_to: ReferenceFacts | None = None  # absent
    coordinates: CoordinateFacts | None = None  # absent
    directions: DirectionCounts | None = None  # absent unless the rows say in which directions they are open
    travel_times: TravelTimeFacts | None = None  # absent unless weights were made from lengths and speeds
    roads: RoadFacts | None = None  # absent unless the source is OpenStreetMap or Overture
    rejected: RejectFacts | None = None  # absent unless the run allows bad rows
    stated: dict[str, int] | None = None  # absent, or what the file says besides edges: figures by their names
    alone: int | None = None  # absent, or how many rows at the end are self-loops of vertices that the table of nodes declares
    order: str | None = None  # absent, or the Arrow type of the column that says which of parallel rows comes first
    merged: MergeFacts | None = None  # absent unless parallel rows were merged into these edges
    attached: AttachFacts | None = None  # absent unless places were attached to streets
    split: SplitFacts | None = None  # absent unless crossings were split

    @property
    def has_turns(self) -> bool:
        """Whether turns matter to paths (`pipeline.steps.turns`)."""
        return bool(self.roads and self.roads.turns and self.roads.turns.matter)

    @property
    def referred(self) -> dict[Path, str]:
        """The Parquet files that have the rows instead of the folder of the edge list, in order, each with its digest."""
        if self.refers_to is None:
            return {}
        if self.source.files is None:
            return {Path(self.refers_to.path): self.source.blake3}
        return {Path(file.path): file.blake3 for file in self.source.files.listed}


class ArrayLengths(Facts):
    """Lengths of the arrays of one direction of a shard."""

    arcs: int


class ShardFacts(Facts):
    """The first row of a shard and the one after its last, and the sizes of its directions."""

    rows: list[int]
    out: ArrayLengths
    into: ArrayLengths | None = Field(None, alias="in")  # absent

    def sizes(self, direction: str) -> ArrayLengths:
        """Sizes of direction "out" or "in", which is "out" in a symmetric graph."""
        return self.into if self.into and direction == "in" else self.out


class DirectionFacts(Facts):
    """Rows from 1024 arcs, from 32, and below."""

    groups: list[int]


class StateFacts(Facts):
    """The effect of changes on a graph, see `pipeline.changes`: a state after its source, or after the previous state."""

    number: int  # of files of changes since the source was read
    parent: str  # digest of the stored graph before
    file: str  # the last of these files, without the folder; `pipeline.store.deltas.history` has all of them
    # inserted, deleted, updated, vertices: by the last file, and how many vertices it added.
    inserted: int
    deleted: int
    updated: int
    vertices: int
    violations: dict[str, int]  # rows of that file that were counted instead of refused, by what was wrong


class CountedFacts(Facts):
    """How weights with decimals are counted: as integers in units of 10^-decimals, and the largest of them in units."""

    decimals: int
    largest: int


class DeltaFacts(Facts):
    """The files of a stored graph that is a base and changes, see `pipeline.store.deltas`."""

    vertices: int  # of the base; rows of later ones come after them
    shards: list[ShardFacts]  # as their files are
    applied: list[int]  # how many of the batches the files of each shard contain
    weight: str | None  # NumPy's type of the weights in these files
    batches: list[int]  # changed edges in each batch


class GraphFacts(Facts):
    """A stored graph, see `pipeline.steps.layout.lay_out`."""

    vertices: int
    arcs: int
    directed: bool
    symmetric: bool
    weight: str | None
    stored_weight: str | None
    self_loops: int  # this and `parallel_arcs`: in the source; of the arcs of one pair all but one are parallel
    self_loops_dropped: int
    arcs_added: int
    parallel_arcs: int
    parallel_arcs_dropped: int
    shards: list[ShardFacts]
    out: DirectionFacts
    into: DirectionFacts | None = Field(None, alias="in")  # absent
    backend: str
    arcs_in: str | None = None  # absent; "host" if the GPU made the rows range by range, in the host's memory
    measure: str | None = None  # absent unless the configuration states what the weights measure
    counted: CountedFacts | None = None  # absent unless weights are float64 that kernels count as integers
    merged: MergeFacts | None = None  # absent unless a rule merged parallel rows; the counts above are those of the source
    proof: CheckFacts | None = None  # absent while it is being proved
    state: StateFacts | None = None  # absent unless changes were applied
    delta: DeltaFacts | None = None  # absent unless the files are a base and changes


class ComputedFacts(Facts):
    """Where something was computed, and in how many seconds; over ranks, on how many and in how many supersteps."""

    backend: str
    seconds: float  # in the kernel, summed over tasks and sources
    shards: int | None = None  # absent
    supersteps: int | None = None  # absent; summed over sources
    whole_graph: int | None = None  # absent; bytes of the graph, if ranks hold it in shards, and workers opened all of it
    on_cpu: int | None = None  # absent; how often the CPU took over from the GPU, because the graph is deep
    arcs_in: str | None = None  # absent; "host" if the GPU read the arcs from the host's memory


def over_ranks(ranks: int, supersteps: int) -> dict[str, Any]:
    """The fields of `ComputedFacts` for a group of ranks; none where one worker computes without others, with `ranks` 0."""
    return {"shards": ranks, "supersteps": supersteps} if ranks else {}


def on_cpu(times: int) -> dict[str, Any]:
    """The field of `ComputedFacts` or `CheckFacts` where the CPU took over from the GPU; none if it never did."""
    return {"on_cpu": times} if times else {}


class IndexFacts(ComputedFacts):
    """A reachability index, see `pipeline.steps.index.build_index`."""

    format: int
    vertices: int
    components: int
    arcs: int  # between components
    levels: int
    dimensions: int
    seed: int
    method: str
    compared_paths: list[bool]  # as in `kernels.answers.Labels`
    bytes_needed: int  # the bound that was compared with the free memory; over ranks, of the first one


class StageFacts(ComputedFacts):
    """An answer, see `pipeline.steps.stages.run_stage`."""

    weight: str | None
    rows: int
    sources: list[int] | None = None  # absent; ascending
    options: dict[str, Any] | None = None  # absent unless the stage has options: their values by name

    @property
    def num_answers(self) -> int:
        """Number of answers in the table: one for each source or seed, or one."""
        each = self.sources if self.seeds is None else self.seeds
        return 1 if each is None else len(each)

    @property
    def seeds(self) -> list[int] | None:
        """External ids, ascending, of the seeds that have an answer each; None if there is one answer for all, or no seed."""
        options = self.options or {}
        return None if options.get("together") else options.get("seeds") or None

    @property
    def num_dimensions(self) -> int:
        """Number of dimensions of the labels in the table."""
        return 0


class LabelFacts(StageFacts, IndexFacts):
    """An answer that was read from an index, with the index's facts."""

    @property
    def num_dimensions(self) -> int:
        """Number of dimensions of the labels in the table."""
        return self.dimensions


def facts_of_answer(answer: Folder) -> StageFacts:
    """Read the facts of an answer. Raises Damaged as `Facts.of`."""
    return (LabelFacts if "index" in answer.manifest.inputs else StageFacts).of(answer)


class ProofFacts(CheckFacts):
    """A proof of the answer of a stage, see `pipeline.steps.verify.prove`."""

    stage: str
    backend: str
    holds: bool
    oracle: CheckFacts | None  # null without
    shards: int | None = None  # absent
    whole_graph: int | None = None  # absent; as in `ComputedFacts`: for a stage without a form over ranks, or for the oracle
    arcs_in: str | None = None  # as in `ComputedFacts`


class QueryFacts(Facts):
    """Queries, see `reach`: a search decided `searched`, `witnessed` of them with a checked path; `sampled` others twice."""

    rows: int
    reachable: int
    unknown: int
    decided: dict[str, int]  # rows, by what decided them
    searched: int
    witnessed: int
    sampled: int
    seconds: float  # in the kernel, summed over files
    oracle: int | None  # pairs that it compared; null without
    backend: str


class PathFacts(ComputedFacts):
    """Witness paths, see `pipeline.steps.paths.find_paths`: their number, their vertices, and the arcs of the longest one."""

    paths: int
    vertices: int
    longest: int
