"""Graphs, indexes and shards that a process keeps open between tasks, so that a run opens each once."""

import logging
from collections import OrderedDict
from collections.abc import Callable, Container
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from kernels.derived import Derived
from kernels.distributed.communicator import Communicator
from kernels.graph import Graph, index_dtype
from pipeline.errors import BadConfig
from pipeline.runtime.backend import Backend
from pipeline.runtime.beyond_gpu import ON_GPU, PlacedArcs, place
from pipeline.runtime.memory import require_memory
from pipeline.store.counting import counted_graph, decimals_of
from pipeline.store.facts import GraphFacts
from pipeline.store.manifest import Folder
from pipeline.units import size

if TYPE_CHECKING:
    from pipeline.store.index.arrays import StoredIndex
    from pipeline.store.shards import DealtShard

log = logging.getLogger(__name__)
_POOLED = 512  # bytes: CuPy's pool takes multiples
Opened = TypeVar("Opened", Graph, "StoredIndex")


class OpenGraphs:
    """The graph or index opened last, and the shards of the ranks that ran last, of this process.

    A graph may have another one beside it. A worker process has one of these for its life, a run on threads of this process one
    for its ranks. Thread-safe.
    """

    def __init__(self) -> None:
        self._whole: dict[tuple[str, Backend], Graph | StoredIndex] = {}
        self._shards: OrderedDict[tuple[str, Backend, int, int], DealtShard] = OrderedDict()  # the one used last at the end
        self._loading: dict[int, Lock] = {}  # by rank
        self._numberings = Numberings()  # this and the next one are shared by copies that `anew` makes
        self._converted = ConvertedGraphs()
        self._open_graph: Callable[[Folder, Backend], Graph] = open_counted
        self._placed: dict[str, PlacedArcs] = {}  # by digest; the memory of a graph's arcs stays the same
        self._lock = Lock()
        self.turn = Lock()  # held by the thread that computes on the GPU

    def graph(
        self, folder: Folder, backend: Backend, beside: Folder | None = None, require: Callable[[], None] | None = None
    ) -> Graph:
        """Open a whole graph, its arrays where the backend computes, its weights as they are counted.

        The graph `beside` stays open if it is. All others, and shards where the backend computes, are closed, because not both
        may fit into the memory. `require` is called before a graph that is not open yet is opened. A GPU reads arcs from the
        host's memory where `arcs` has decided so, which a run asks in its own process.

        Raises Damaged, or BadConfig if its folder is missing.
        """

        def opener(folder: Folder, backend: Backend) -> Graph:
            placed = self._placed.get(folder.digest) if backend == "gpu" else None
            if placed and placed.memory != "device":
                return open_with_arcs_on_host(folder, placed)
            return self._open_graph(folder, backend)

        return self._open(folder, backend, opener, beside, require)

    def keep(self, folder: Folder, backend: Backend, graph: Graph) -> bool:
        """Keep a whole graph that is already open, with weights as in its files; whether it is kept.

        One whose arcs are pinned is opened again if they have another place, or weights are counted, which makes new arrays.
        """
        pinned = _pinned(graph) if backend == "gpu" else 0
        with self._lock:
            self._whole.clear()
            if pinned and (self._arcs(folder, graph, pinned).memory != "host" or decimals_of(folder) is not None):
                return False
            self._whole[folder.digest, backend] = counted_graph(folder, graph)
            if backend == "gpu" and not pinned:
                self._placed[folder.digest] = ON_GPU
        return True

    def arcs(self, folder: Folder) -> PlacedArcs:
        """Where the arcs of a whole graph are, or will be, if this process's GPU computes; decided once, and logged."""
        with self._lock:
            return self._arcs(folder)

    def forget(self) -> None:
        """Close the whole graph or index: what used it last may have written into it."""
        self._converted.forget()
        with self._lock:
            self._whole.clear()

    def anew(self) -> "OpenGraphs":
        """The same graph, if one is held, without what kernels derived from its arcs, which lives as long as their tasks.

        Memory maps are cheap to open again; weights that are counted are converted once, for all copies.
        """
        opened = OpenGraphs()
        opened._numberings, opened._converted, opened._open_graph = self._numberings, self._converted, self._converted.graph
        opened._placed = self._placed
        with self._lock:
            opened._whole = {key: replace(graph) for key, graph in self._whole.items() if isinstance(graph, Graph)}
        return opened

    def index(self, folder: Folder, backend: Backend) -> "StoredIndex":
        """Open a whole index for queries. Raises as `graph`, and TooLarge as `place_index`."""
        from pipeline.store.index.arrays import place_index

        return self._open(folder, backend, place_index)

    def shard(self, graph: Folder, communicator: Communicator, backend: Backend, ranks_here: int) -> "DealtShard":
        """Load a rank's shard; `ranks_here` of the ranks are in this process. Raises as `graph`."""
        from pipeline.store.shards import DealtShard, dealing_of, load_shard

        key = graph.digest, backend, communicator.size, communicator.rank
        with self._lock:
            loading = self._loading.setdefault(communicator.rank, Lock())
        with loading:  # the same rank of several stages at once loads its shard once
            with self._lock:
                dealt = self._shards.get(key)
                if dealt is None:
                    require_visible(graph.path)
                self._keep(backend, ranks_here - (dealt is None))  # before loading: both may not fit into the memory
            if dealt is None:
                dealing = dealing_of(graph, communicator.size)
                dealt = DealtShard(load_shard(graph, dealing, communicator.rank, backend, ranks_here, counted=True), dealing)
            with self._lock:
                self._shards[key] = dealt
                self._shards.move_to_end(key)
                self._keep(backend, ranks_here)
        return dealt

    def rows_of_shard(self, graph: Folder, communicator: Communicator) -> "DealtShard":
        """A rank's shard in the host's memory; if it is not open there, without arcs, and not kept. Raises as `graph`."""
        from pipeline.store.shards import DealtShard, dealing_of, load_rows

        with self._lock:
            dealt = self._shards.get((graph.digest, "cpu", communicator.size, communicator.rank))
        if dealt is None:
            require_visible(graph.path)
            dealing = dealing_of(graph, communicator.size)
            dealt = DealtShard(load_rows(graph, dealing, communicator.rank), dealing)
        return dealt

    def _open(
        self,
        folder: Folder,
        backend: Backend,
        opener: Callable[[Folder, Backend], Opened],
        beside: Folder | None = None,
        require: Callable[[], None] | None = None,
    ) -> Opened:
        key = folder.digest, backend
        with self._lock:
            opened = self._whole.get(key)
            if opened is None:
                require_visible(folder.path)
                # Before opening: both may not fit into the memory at the same time.
                self._whole = {of: graph for of, graph in self._whole.items() if beside and of[0] == beside.digest}
                self._keep(backend, 0)
                if require:
                    require()
                opened = opener(folder, backend)
                if isinstance(opened, Graph) and backend == "cpu":
                    opened = replace(opened, numbering=self._numberings.of(folder.digest, {of for of, _ in self._whole}))
                self._whole[key] = opened
        return opened  # type: ignore[return-value]  # a digest belongs to one kind of folder

    def _arcs(self, folder: Folder, open_here: Graph | None = None, pinned: int = 0) -> PlacedArcs:
        """Where the arcs are; of a graph that is open, `pinned` bytes of them are in the host's memory."""
        if (placed := self._placed.get(folder.digest)) is None:
            placed = place(*arcs_of(folder), pinned)
            if open_here is not None:
                placed = placed._replace(free=placed.free + _beside_arcs(open_here))
            self._placed[folder.digest] = placed
            if placed.memory != "device":
                log.info("%s", _where_arcs_are(placed))
        return placed

    def _keep(self, backend: Backend, most: int) -> None:
        """Close the shards that were not used for the longest time, of those in the same memory."""
        in_memory = [key for key in self._shards if key[1] == backend]
        for key in in_memory[: max(0, len(in_memory) - most)]:
            del self._shards[key]


class Numberings:
    """Values derived from the vertices of graphs in host memory: of the last graph, and of the one beside it. Thread-safe."""

    def __init__(self) -> None:
        self._held: dict[str, Derived] = {}  # by digest
        self._lock = Lock()

    def of(self, digest: str, beside: Container[str]) -> Derived:
        """Those of a graph; if they are new, only those of graphs `beside` it stay."""
        with self._lock:
            if digest not in self._held:
                self._held = {other: derived for other, derived in self._held.items() if other in beside}
            return self._held.setdefault(digest, Derived())


class ConvertedGraphs:
    """The graph opened last of those whose weights are counted, in units; in host memory. Thread-safe."""

    def __init__(self) -> None:
        self._held: dict[str, Graph] = {}  # by digest
        self._lock = Lock()

    def graph(self, folder: Folder, backend: Backend) -> Graph:
        """Open a whole graph; as `OpenGraphs.graph`."""
        if decimals_of(folder) is None:
            return open_counted(folder, backend)
        with self._lock:
            if folder.digest not in self._held:
                self._held.clear()
                self._held[folder.digest] = open_counted(folder, backend)
            return replace(self._held[folder.digest])

    def forget(self) -> None:
        """Free its memory."""
        with self._lock:
            self._held.clear()


def open_counted(folder: Folder, backend: Backend) -> Graph:
    """Open a whole graph that is not kept; as `OpenGraphs.graph`."""
    from pipeline.store.graph import open_graph

    require_visible(folder.path)
    return counted_graph(folder, open_graph(folder, backend))


def _pinned(graph: Graph) -> int:
    """Bytes of a GPU's arcs that are in the host's memory."""
    from kernels.distributed.gpu.memory import memory_of

    columns = {id(array): array for csr in (graph.out, graph.into) for array in (csr.indices, csr.weights) if array is not None}
    return sum(array.nbytes for array in columns.values() if memory_of(array) == "host")


def _beside_arcs(graph: Graph) -> int:
    """Bytes of a GPU's memory that a graph's arrays beside its arcs take in CuPy's pool."""
    columns = {id(array): array for array in (graph.ids, graph.rows_by_id, graph.out.offsets, graph.into.offsets)}
    return sum(-(-array.nbytes // _POOLED) * _POOLED for array in columns.values())


def arcs_of(folder: Folder) -> tuple[int, int]:
    """How many arcs a stored graph has in its directions together, and bytes of each."""
    facts = GraphFacts.of(folder)
    of_weight = np.dtype(facts.stored_weight).itemsize if facts.stored_weight else 0
    return facts.arcs * (1 if facts.symmetric else 2), index_dtype(facts.vertices).itemsize + of_weight


def open_with_arcs_on_host(folder: Folder, placed: PlacedArcs) -> Graph:
    """Open a whole graph on the GPU with its arcs in pinned memory of the host.

    Raises as `OpenGraphs.graph`, and TooLarge unless memory for them is free.
    """
    from kernels.distributed.gpu.memory import with_arcs_in

    require_memory("a graph whose arcs are pinned for the GPU", placed.pinned, "cpu")
    return with_arcs_in("host", open_counted(folder, "cpu"))


def _where_arcs_are(placed: PlacedArcs) -> str:
    """For the log."""
    why = f"the graph's arcs take {size(placed.bytes)}, and {size(placed.free)} of the GPU's memory are free"
    if placed.memory == "host":
        return f"{why}: the GPU reads them from the host's memory"
    return f"{why}, and less than {size(placed.pinned)} of the host's: stages are computed on the CPU"


def require_visible(path: Path) -> None:
    """Raise BadConfig in a task whose worker does not see a file or folder of the run."""
    if not path.exists():
        raise BadConfig(f"cluster: a worker does not see {path}; it must be on a file system that all hosts share")
