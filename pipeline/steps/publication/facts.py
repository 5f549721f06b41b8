"""Facts of a published run: its input, its tables and steps, the machine, and the versions of libraries."""

import os
import platform
import re
from collections.abc import Callable, Mapping, Sequence, Set
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from kernels.cpu.parallel import cores
from pipeline.runtime.backend import Backend, gpu
from pipeline.steps.parallel import LIGHTEST
from pipeline.steps.sources import out_degree
from pipeline.steps.turns import TURNED
from pipeline.store.deltas import CAPACITIES
from pipeline.store.facts import EdgeFacts, GraphFacts, facts_of_answer
from pipeline.store.facts.run import InputFacts, StepFacts, TableFacts
from pipeline.store.facts.sources import SourceFacts
from pipeline.store.manifest import Folder
from pipeline.store.names import open_names
from pipeline.store.vertices import ids_of
from pipeline.tables import changes
from pipeline.tables import files as tables
from pipeline.tables.definitions import TABLES
from pipeline.tables.points import NODES

LIBRARIES = ("graphmill", "numpy", "scipy", "numba", "pyarrow")
LISTED = 100  # files of a source that the manifest of a run names; that of step `edges` names all
COMPUTING_OR_DRAWING = ("numpy", "scipy", "numba", "pyarrow", "matplotlib")


def tables_of(fresh: Path, published: Set[str], dimensions: int, measure: str | None) -> dict[str, TableFacts]:
    """The tables in the folder of a run: `published`, coordinates and changes; `measure` as `pipeline.tables.files.describe`."""
    return {
        folder.name: TableFacts(
            rows=sum(pq.read_metadata(file).num_rows for file in tables.files(folder)),
            columns=_describe(folder.name)(
                folder.name.removesuffix(changes.SUFFIX), pq.read_schema(tables.files(folder)[0]), dimensions, measure
            ),
            files=[file.relative_to(fresh).as_posix() for file in tables.files(folder)],
        )
        for folder in sorted(fresh.iterdir())
        if folder.name.removesuffix(changes.SUFFIX) in published | TABLES.keys()
    }


def _describe(table: str) -> Callable[..., list[dict[str, str]]]:
    return changes.describe if table.endswith(changes.SUFFIX) else tables.describe


def summary(step: Folder) -> StepFacts:
    """A step as its run shows it."""
    manifest = step.manifest
    # `shards` of a graph are the sizes of its shards, which the run's `graph` has
    of_graph = manifest.step in ("graph", CAPACITIES, TURNED)
    shown = ("backend", "arcs_in") if of_graph else ("backend", "shards", "supersteps", "whole_graph", "on_cpu", "arcs_in")
    computed = {fact: step.facts[fact] for fact in shown if fact in step.facts}
    return StepFacts(seconds=manifest.seconds, reused=step.reused, key=manifest.key, created=manifest.created, **computed)


def surroundings(backend: Backend, fallback: str | None) -> dict[str, Any]:
    """The machine, and the versions of the libraries that compute."""
    versions = _versions()
    machine = {"system": platform.system(), "architecture": platform.machine(), "cpus": os.cpu_count()}
    if backend == "gpu":
        gpu_facts = gpu()
        machine["gpu"] = gpu_facts.pop("gpu")
        versions = versions | gpu_facts
    if fallback:
        machine["gpu_not_used"] = fallback
    return {"versions": versions, "machine": machine}


@cache
def _versions() -> dict[str, str]:
    return {"python": platform.python_version(), **{library: _version(library) for library in LIBRARIES}}


@cache
def _version(library: str) -> str:
    """As `importlib.metadata.version`, which also reads what follows: NumPy's metadata take it 3 ms."""
    metadata = distribution(library)
    stated = re.search(r"^Version: *(\S+)\s*$", metadata.read_text("METADATA") or "", re.MULTILINE)
    return stated[1] if stated else metadata.version


@cache
def described_machine(backend: Backend) -> dict[str, str]:
    """The machine for people, name to value: processor, cores, the GPU if it computes, system, Python and libraries."""
    return {
        "Processor": f"{_processor()} ({platform.machine()})",
        "Cores": str(cores()),
        **(_gpu() if backend == "gpu" else {}),
        "System": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        "Libraries": _libraries(),
    }


def _libraries() -> str:
    return ", ".join(f"{library} {_version(library)}" for library in COMPUTING_OR_DRAWING)


def _gpu() -> dict[str, str]:
    card = gpu()
    return {"GPU": f"{card['gpu']}, driver {card['driver']}, CUDA {card['cuda']}, CuPy {card['cupy']}"}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, "") or platform.processor() or "unknown"  # which starts a process to ask


def files_read(edges: Folder) -> list[SourceFacts]:
    """The files that an edge list was read from."""
    read = EdgeFacts.of(edges)
    return [read.source, *([read.coordinates.source] if read.coordinates else []), *([read.nodes] if read.nodes else [])]


def input_of(
    edges: Folder,
    graph: Folder,
    answers: Sequence[Folder] = (),
    sha256: Mapping[str, str] = MappingProxyType({}),
    capacities: Folder | None = None,
) -> InputFacts:
    """Collect how a source was read, from the steps of a run; sources and their origin from the answers that have some.

    `sha256` has the SHA-256 of the files, by their BLAKE3 digests; `capacities` is the graph of stages that add parallel arcs.
    """
    read, stored = EdgeFacts.of(edges), GraphFacts.of(graph)
    sources = next((named for answer in answers if (named := facts_of_answer(answer).sources) is not None), None)
    by_default = any(answer.manifest.parameters.get("sources") == [] for answer in answers)
    reason = reason_of_default(graph, sources[0]) if sources and by_default else None
    summed = {file.path: _with_sum(file, sha256) for file in files_read(edges)}
    copied = ("directions", "travel_times", "roads", "rejected", "stated", "attached")
    optional: dict[str, Any] = {name: fact for name in copied if (fact := getattr(read, name))}
    optional |= _node_rows(edges, graph) | ({"counted": stored.counted} if stored.counted else {})
    if (rule := graph.manifest.parameters.get("parallel", LIGHTEST)) != LIGHTEST:
        optional["parallel"] = rule
    merged = {"merged": stored.merged, "capacities": GraphFacts.of(capacities).merged if capacities else None}
    optional |= {name: fact for name, fact in merged.items() if fact}
    shared, alone = ("format", "columns", "ignored_columns", "directed", "directed_by"), read.alone or 0
    return InputFacts(
        **{name: getattr(read, name) for name in shared},
        source=summed[read.source.path],
        coordinates=summed[read.coordinates.source.path] if read.coordinates else None,
        nodes=summed[read.nodes.path] if read.nodes else None,
        weight=stored.weight,
        measure=measure_of(edges, graph),
        edges=read.edges - alone,
        self_loops=stored.self_loops - alone,
        self_loops_kept=stored.self_loops_dropped < stored.self_loops,
        parallel_arcs=stored.parallel_arcs,
        parallel_arcs_kept=stored.parallel_arcs_dropped < stored.parallel_arcs,
        sources=sources,
        source_names=names_of_sources(edges, sources),
        default_source=reason,
        **optional,
    )


def measure_of(edges: Folder, graph: Folder) -> str | None:
    """What the weights of a graph measure: those of the source, unless a rule for parallel rows has made others."""
    return GraphFacts.of(graph).measure or EdgeFacts.of(edges).measure


def _with_sum(file: SourceFacts, sha256: Mapping[str, str]) -> SourceFacts:
    """A file with its SHA-256; of several files, which have none, the first ones."""
    if file.files:
        return file.model_copy(update={"files": file.files.model_copy(update={"listed": file.files.listed[:LISTED]})})
    return file.model_copy(update={"sha256": sha256.get(file.blake3)})


def _node_rows(edges: Folder, graph: Folder) -> dict[str, int]:
    """How many rows the table of nodes has, and how many of them match no vertex."""
    rows = EdgeFacts.of(edges).node_rows
    if rows is None:
        return {}
    known = pq.read_table(edges.path / NODES, columns=["vertex"], page_checksum_verification=True)["vertex"].to_numpy()
    ids, _ = ids_of(graph)
    return {"node_rows": rows, "unmatched_node_rows": rows - int(np.isin(known, ids).sum())}


def names_of_sources(edges: Folder, sources: Sequence[int] | None) -> list[str] | None:
    """The ids of sources in the source file, if they are strings there."""
    names = open_names(edges) if sources else None
    return [names.text(source) for source in sources or ()] if names else None


def reason_of_default(graph: Folder, source: int) -> str:
    """The reason why a vertex is the default source."""
    return f"highest out-degree, {out_degree(graph, source):,}; among equals, the smallest id"
