"""The constants of a run, as one argument of every step."""

import logging
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernels.algorithm import Algorithm
from kernels.derived import Derived
from kernels.gpu.devices import device_count
from kernels.gpu.loader import total_bytes
from kernels.records import dataclass
from pipeline.cluster.protocol import Cluster
from pipeline.cluster.threads import LocalThreads
from pipeline.config.model import Model, Snap
from pipeline.config.products.places import PlacesConfig
from pipeline.config.products.zones import ZonesConfig
from pipeline.runtime.backend import Backend
from pipeline.runtime.beyond_gpu import ON_GPU, PlacedArcs
from pipeline.runtime.memory import stages_at_once
from pipeline.store.arrays import bytes_of_arrays
from pipeline.store.edges import HeldEdges
from pipeline.store.facts import GraphFacts
from pipeline.store.manifest import Folder
from pipeline.store.names import VertexNames
from pipeline.units import size

if TYPE_CHECKING:
    from pipeline.steps.turns.turned import Turned


log = logging.getLogger(__name__)
PER_STORED_BYTE = 4  # bytes of a GPU that stages take for each byte of a stored graph, at most


@contextmanager
def checks() -> Iterator[list[Future[None]]]:
    """Checks that go on beside the block; if it raises, an error of a check is raised instead, because it may be the reason."""
    begun: list[Future[None]] = []
    try:
        yield begun
    except Exception as error:
        for check in begun:
            if damage := check.exception():
                raise damage from error
        raise


def lays_out_here(cluster: Cluster) -> bool:
    """Whether this process lays out graphs; otherwise ranks in other processes do, which read their parts of the edges."""
    return cluster.open_graphs is not None or not cluster.shards


@dataclass(frozen=True)
class Runtime:
    """Where a run works and computes."""

    work: Path  # the folder of the steps' folders
    # {"cpu", "gpu"}: where kernels run. The tables are the same, except those of an algorithm that is not `exact`.
    backend: Backend = "cpu"
    cluster: Cluster = field(default_factory=LocalThreads)  # which processes run the tasks. The tables are the same.
    held_edges: HeldEdges = field(default_factory=HeldEdges)  # the edge list between the steps that read it and lay it out
    # The hierarchy that this run has built or checked, by the folder and the graph's digest: all products need the same one.
    hierarchies: dict[tuple[Path, str], Folder] = field(default_factory=dict, compare=False)
    # Graphs on which paths are found instead, by the digest of the graph of streets (`pipeline.steps.turns`).
    turned: dict[str, "Turned"] = field(default_factory=dict, compare=False)
    # Names that a command adds to its table (`pipeline.steps.derived.names.naming`); a run has a step for those of each table.
    names: VertexNames | None = field(default=None, compare=False)
    places: PlacesConfig = field(default_factory=PlacesConfig)  # the columns of files of places
    zones: ZonesConfig = field(default_factory=ZonesConfig)  # the columns of files of zones
    snap: Snap = field(default_factory=Snap)  # how the vertices of places are found
    derived: Derived = field(default_factory=Derived, compare=False)  # what several steps of this run need and one has read
    # Checks of stored files (Damaged), which go on beside later steps until the run is published. None: nobody awaits them.
    checking: list[Future[None]] | None = field(default=None, compare=False)

    @property
    def in_this_process(self) -> bool:
        """Whether tasks run on threads of this process, with its memory and its cores."""
        return self.cluster.open_graphs is not None

    def ranks_of(self, graph: Folder) -> int:
        """How many ranks hold this graph together; 0 where each worker holds all of it.

        Ranks that are threads of this process would share its cores, which write tables for most of a run's time. So they hold a
        graph together only if none of the GPUs has memory for all of it.
        """
        shards = self.cluster.shards if GraphFacts.of(graph).vertices else 0
        return 0 if shards and self._fits_a_gpu(graph) else shards

    def _fits_a_gpu(self, graph: Folder) -> bool:
        """Whether a GPU of this process has memory for a graph and for the arrays of its kernels."""
        return self.in_this_process and self.backend == "gpu" and PER_STORED_BYTE * bytes_of_arrays(graph.path) <= total_bytes()

    def shards_for(self, algorithm: Algorithm, graph: Folder) -> int:
        """As `ranks_of`; 0 for an algorithm that is not computed over ranks."""
        return self.ranks_of(graph) if algorithm.sharded_solver else 0

    def ranks_for(self, algorithm: Algorithm, graph: Folder) -> int:
        """How many ranks compute or prove an algorithm's answer together; 0 where each answer is a task of its own.

        Asks the workers, which therefore start.
        """
        if not (algorithm.shares_searches and GraphFacts.of(graph).vertices):
            return self.shards_for(algorithm, graph)
        ranks = self.cluster.sharing(self.backend)
        if ranks and self._fits_a_gpu(graph):  # several ranks of one GPU would have a copy of the graph each
            ranks = min(ranks, device_count()) if device_count() > 1 else 0
        return ranks

    def opened(self, graph: Folder) -> dict[str, Any]:
        """The field of `ComputedFacts` of a step for which workers open all of a graph that ranks hold in shards."""
        whole = self.ranks_of(graph) > 0
        return {"whole_graph": bytes_of_arrays(graph.path)} if whole else {}

    def arcs_of(self, graph: Folder) -> PlacedArcs:
        """Where the GPU of this process has the arcs of a graph; a worker's GPU holds them."""
        opened = self.cluster.open_graphs
        if self.backend == "cpu" or opened is None or self.ranks_of(graph):
            return ON_GPU
        return opened.arcs(graph)

    def arcs_in(self, graph: Folder) -> dict[str, Any]:
        """The field of `ComputedFacts` and `ProofFacts` of what reads arcs from the host's memory."""
        return {"arcs_in": "host"} if self.arcs_of(graph).memory == "host" else {}

    def for_stage(self, algorithm: Algorithm, graph: Folder, options: Model | None = None) -> "Runtime":
        """Where a stage is computed and proved: on the CPU if it cannot read the graph's arcs from the host's memory."""
        placed = self.arcs_of(graph)
        if placed.memory == "device":
            return self
        if placed.memory == "host":
            need, facts = algorithm.costs.pinned, GraphFacts.of(graph)
            if need is None or getattr(options, "seeds", None):
                why = "its kernels need the arcs in the GPU's memory"
            elif (needed := need.needed(facts.vertices, facts.arcs, facts.symmetric)) > placed.free:
                why = f"it takes {size(needed)} of the GPU's memory beside the arcs, and {size(placed.free)} are free"
            else:
                return self
            log.info("%s: computed on the CPU: %s", algorithm.name, why)
        return replace(self, backend="cpu")

    def without_pinned(self, graph: Folder) -> "Runtime":
        """Where all but stages is computed: on the CPU if the GPU does not hold the graph's arcs."""
        return self if self.arcs_of(graph).memory == "device" else replace(self, backend="cpu")

    def stages_at_once(self, graph: Folder) -> int:
        """How many stages may run and be proved at the same time: in this process only, as many as memory allows.

        On GPUs stages compute one after the other, while the files of others are encoded and read, each on a core. Ranks on CPUs
        run one stage at a time, because each has its arrays in the memory of this process.
        """
        if not self.in_this_process or (self.cluster.shards and self.backend == "cpu"):
            return 1
        facts, ranks = GraphFacts.of(graph), self.ranks_of(graph)
        if not ranks:
            where: list[Backend] = [self.backend] if self.arcs_of(graph).memory == "device" else ["cpu", "gpu"]
            return min(stages_at_once(backend, facts.vertices, facts.arcs) for backend in where)
        stored = bytes_of_arrays(graph.path)  # which is not on the GPUs yet
        return stages_at_once(self.backend, facts.vertices, facts.arcs, min(ranks, device_count()), stored)

    def here(self) -> "Runtime":
        """The same on this process only, for work that is too small to distribute."""
        return replace(self, backend="cpu", cluster=LocalThreads())
