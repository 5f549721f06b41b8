"""Runs the algorithms that a graph's properties list, and writes outputs and times.

A graph is read and laid out once, for all algorithms; that is `load`. An algorithm then begins with the graph in memory and ends
with its file: `makespan`. The kernel alone is `processing`, from which EVPS follows: vertices and edges over its seconds. Then
come the proof and, at the same time, the validation. The first of several runs may include loading compiled code; EVPS is that of
the fastest.
"""

import logging
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from kernels.arrays import is_cupy
from kernels.graph import Array, Graph
from kernels.registry import BY_NAME
from pipeline import strict_json
from pipeline.cluster.open_graphs import OpenGraphs
from pipeline.config.products import GraphOptions
from pipeline.errors import BadConfig, BadInput, ProofFailed
from pipeline.graphalytics.algorithms import ALGORITHMS, Benchmarked
from pipeline.graphalytics.machine import machine, memory_in_use
from pipeline.graphalytics.outputs import read_reference, write_output
from pipeline.graphalytics.properties import PARQUET, SUFFIXES, GraphProperties, read_properties
from pipeline.graphalytics.validation import EXACT, why_invalid
from pipeline.runtime.backend import Backend, Clock, fetch
from pipeline.steps.stored_graph import stored_graph
from pipeline.store.counting import decimals_of
from pipeline.tables.batches import with_arrays

log = logging.getLogger(__name__)
RESULTS = "results.json"
Outcome = dict[str, Any]


def benchmark(folder: Path, out: Path, options: GraphOptions, runs: int = 1) -> dict[str, Any]:
    """Run the algorithms of the graph in a folder, each `runs` times; write `out/NAME-ALGORITHM`, and `results.json`, the result.

    Raises:
        BadInput: The properties or the files are wrong, or have other numbers of vertices or edges than they state.
        BadConfig: An algorithm has no stage here.
        ProofFailed: An answer is not proved.
    """
    started, properties = time.perf_counter(), read_properties(folder)
    for name in properties.algorithms:
        if ALGORITHMS[name].stage not in BY_NAME:
            raise BadConfig(f"{name}: there is no stage {ALGORITHMS[name].stage}")
    out.mkdir(parents=True, exist_ok=True)
    columns = {"weight": properties.weight}
    format = "parquet" if properties.edges.suffix == PARQUET else "snap"
    keys = {"format": format, "directed": properties.directed, "columns": columns, "ids": "integer",
            "nodes": str(properties.vertices), "node_columns": {"declare": True}}  # fmt: skip
    with stored_graph(str(properties.edges), options, tables={"graph": keys}) as (stored, runtime):
        graph = (runtime.cluster.open_graphs or OpenGraphs()).graph(stored.graph, runtime.backend)
        load = time.perf_counter() - started
        _require_counts(properties, graph)
        prepared = _LoadedGraph(folder, out, properties, graph, decimals_of(stored.graph))
        given = properties.algorithms.items()
        outcomes = {name: [prepared.run(name, parameters) for _ in range(runs)] for name, parameters in given}
        results = {
            "graph": {"name": properties.name, "vertices": properties.num_vertices, "edges": properties.num_edges,
                      "directed": properties.directed},
            "machine": machine(runtime.backend),
            "load": round(load, 6),
            "loaded_before": stored.graph.reused,
            "algorithms": {name: _summary(name, properties, of_runs) for name, of_runs in outcomes.items()},
            "memory": memory_in_use(runtime.backend),
            "seconds": round(time.perf_counter() - started, 6),
        }  # fmt: skip
    (out / RESULTS).write_text(strict_json.written(results, indent=1) + "\n", encoding="utf-8")
    return results


def _require_counts(properties: GraphProperties, graph: Graph) -> None:
    arcs = graph.num_arcs if properties.directed else graph.num_arcs // 2
    for file, what, stated, counted in (
        (properties.vertices, "vertices", properties.num_vertices, graph.num_vertices),
        (properties.edges, "edges", properties.num_edges, arcs),
    ):
        if stated != counted:
            raise BadInput(file, f"has {counted:,} {what}, and meta.{what} states {stated:,}")


class _LoadedGraph:
    """A graph in memory, on which algorithms run."""

    def __init__(self, folder: Path, out: Path, properties: GraphProperties, graph: Graph, decimals: int | None) -> None:
        self._folder, self._out, self._properties, self._graph, self._decimals = folder, out, properties, graph, decimals
        self._backend: Backend = "gpu" if is_cupy(graph) else "cpu"
        self._ids, self._rows_by_id = fetch(graph.ids), fetch(graph.rows_by_id)
        self._ascending = self._ids[self._rows_by_id]

    def run(self, name: str, parameters: dict[str, Any]) -> Outcome:
        """Run one algorithm once: times, and whether its answer is proved and valid."""
        algorithm, stage = ALGORITHMS[name], BY_NAME[ALGORITHMS[name].stage]
        source, solver = self._source(name, parameters), stage.resolve("solver")
        started, clock = time.perf_counter(), Clock(self._backend)
        with clock.timed():
            answer = algorithm.solve(solver, self._graph, parameters, source)
        values = algorithm.values(self._ids, with_arrays(answer, fetch), self._decimals)[self._rows_by_id]
        file = self._out / f"{self._properties.name}-{name.upper()}"
        write_output(file, self._ascending, values)
        outcome: Outcome = {"processing": clock.seconds, "makespan": round(time.perf_counter() - started, 6)}
        with ThreadPoolExecutor(1) as beside:
            validity = beside.submit(self._validity, name, values)
            outcome |= self._proof(algorithm, answer, parameters)
            return outcome | validity.result()

    def _source(self, name: str, parameters: dict[str, Any]) -> int:
        if "source-vertex" not in parameters:
            return -1
        ids, vertex = self._ascending, parameters["source-vertex"]
        place = int(np.searchsorted(ids, vertex))
        if place == len(ids) or ids[place] != vertex:
            raise BadInput(self._properties.vertices, f"{name}.source-vertex {vertex} is not in it")
        return int(self._rows_by_id[place])

    def _proof(self, algorithm: Benchmarked, answer: Any, parameters: dict[str, Any]) -> Outcome:
        started = time.perf_counter()
        verdict = BY_NAME[algorithm.stage].resolve("certificate")(self._graph, answer, **algorithm.options(parameters))
        if not verdict.holds:
            raise ProofFailed(f"{algorithm.stage}: {verdict.reason}")
        return {"proved": True, "proof": round(time.perf_counter() - started, 6)}

    def _validity(self, name: str, values: Array) -> Outcome:
        """Whether the output is valid; without a reference output nothing is stated."""
        stem = f"{self._properties.name}-{name.upper()}"
        for suffix in SUFFIXES:
            if (file := self._folder / f"{stem}{suffix}").is_file():
                reason = why_invalid(name, read_reference(file, name), (self._ascending, values))
                return {"valid": not reason, "reference": file.name, **({"reason": reason} if reason else {})}
        return {}


def _summary(name: str, properties: GraphProperties, outcomes: list[Outcome]) -> Outcome:
    """The times of each run, the best EVPS, and what holds of all of them."""
    best = min(outcome["processing"] for outcome in outcomes)
    size = properties.num_vertices + properties.num_edges
    times: Outcome = {
        key: [outcome[key] for outcome in outcomes] for key in ("processing", "makespan", "proof") if key in outcomes[0]
    }
    states: Outcome = {key: outcomes[-1][key] for key in ("proved", "reference", "reason") if key in outcomes[-1]}
    valid = {"valid": all(outcome["valid"] for outcome in outcomes)} if "valid" in outcomes[0] else {"valid": None}
    rule = {"rule": "equal sets" if name == "wcc" else "equal values" if name in EXACT else "values within 0.0001"}
    evps = {"evps": round(size / best, 1) if best else None}
    return {"parameters": properties.algorithms[name], **times, **evps, **valid, **rule, **states}
