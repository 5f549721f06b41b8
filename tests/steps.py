"""Hand-made step folders of a path graph 0-1-...-n: what `publish` takes, without the steps that compute it."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernels.algorithm import Form
from kernels.registry import BY_NAME
from pipeline.config import run as config
from pipeline.steps.publication.publish import PublishOptions, publish
from pipeline.steps.publication.results import Results
from pipeline.store.facts import (
    ArrayLengths,
    CheckFacts,
    DirectionFacts,
    EdgeFacts,
    GraphFacts,
    ProofFacts,
    ShardFacts,
    SourceFacts,
    StageFacts,
)
from pipeline.store.manifest import Folder, make
from pipeline.tables import files as tables

WEIGHT = "int32"
STAGES = tuple(stage for stage in config.STAGES if stage != "reachability")  # whose table needs its index beside it


@dataclass(frozen=True)
class Steps:
    edges: Folder
    graph: Folder
    answers: list[Folder]
    proofs: list[Folder]
    report: Folder

    def results(self) -> Results:
        return Results("path", self.edges, self.graph, self.answers, self.proofs, self.report)

    def publish(self, output: Path, keep: int = 0) -> Folder:
        return publish(output, self.results(), PublishOptions(keep=keep))


def path_steps(
    work: Path,
    vertices: int = 10,
    weight: int = 3,
    spread: int = 1,
    coordinates: bool = True,
    stages: Iterable[str] = STAGES,
    files: int = 1,
) -> Steps:
    """Every step of a path of `vertices` vertices, each edge of weight `weight`; see `path_ids` for `spread`.

    Each table has `files` files.
    """
    ids = path_ids(vertices, spread)

    def write_edges(folder: Path) -> dict[str, Any]:
        weights = pa.array(np.full(vertices - 1, weight, np.int32))
        pq.write_table(pa.table({"src": ids[:-1], "dst": ids[1:], "weight": weights}), folder / "part-00000.parquet")
        if coordinates:
            pq.write_table(pa.table({"vertex": ids[::-1], "x": ids * 0.5, "y": ids * 0.0}), folder / "coordinates.parquet")
        return EdgeFacts(
            format="parquet", directed=False, directed_by="configuration", columns=None,
            ignored_columns=[], weight=WEIGHT, edges=vertices - 1, largest={}, first_id=None,
            declared_vertices=None, source=SourceFacts(path="memory", bytes=0, blake3=""), text_bytes=None,
        ).stored()  # fmt: skip

    asked = {"vertices": vertices, "weight": weight, "spread": spread, "coordinates": coordinates}
    edges = make(work / "edges", "edges", {}, asked, write_edges)
    graph = make(work / "graph", "graph", {"edges": edges.digest}, {}, lambda _: path_facts(vertices).stored())
    answers = [_answer(work, graph, stage, path_table(stage, ids, weight), files) for stage in stages]
    proofs = [_proof(work, graph, answer) for answer in answers]
    report = make(work / "report", "report", {"graph": graph.digest}, {}, lambda folder: _page(folder, vertices))
    return Steps(edges, graph, answers, proofs, report)


def path_facts(vertices: int) -> GraphFacts:
    """Facts of the stored path."""
    arcs = 2 * (vertices - 1)
    shard = ShardFacts(rows=[0, vertices], out=ArrayLengths(arcs=arcs))
    return GraphFacts(
        vertices=vertices, arcs=arcs, directed=False, symmetric=True, weight=WEIGHT, stored_weight=WEIGHT, self_loops=0,
        self_loops_dropped=0, arcs_added=vertices - 1, parallel_arcs=0, parallel_arcs_dropped=0,
        shards=[shard], out=DirectionFacts(groups=[0, 0, vertices]),
        backend="cpu", proof=CheckFacts(rules=["the rules of a layout"], seconds=0.0),
    )  # fmt: skip


def path_ids(vertices: int, spread: int = 1) -> np.ndarray:
    """Ascending external ids with random gaps up to `spread`: the larger, the larger the tables' files."""
    return np.random.default_rng(vertices).integers(1, spread, vertices, endpoint=True).cumsum()


def path_table(stage: str, ids: np.ndarray, weight: int) -> pa.Table:
    """The answer of one stage for the path along `ids`, from its first vertex."""
    hops = np.arange(len(ids))
    first = np.full(len(ids), ids[0])
    form = BY_NAME[stage].form
    if form is Form.PATHS:
        before = pa.array(np.roll(ids, 1), mask=hops == 0)
        columns = {"source": first, "vertex": ids, "distance": hops * (1 if stage == "bfs" else weight), "predecessor": before}
    elif form is Form.FOREST:
        weights = np.full(len(ids) - 1, weight, np.int32)
        columns = {"src": ids[:-1], "dst": ids[1:], "weight": weights, "labels": first[:-1]}
    elif form is Form.VALUES:
        values = {"float64": np.full(len(ids), 1 / len(ids)), "int64": hops}
        columns = {"vertex": ids} | {column.name: values[column.type] for column in BY_NAME[stage].columns[1:]}
    else:
        columns = {"vertex": ids, "labels": first}
    return pa.table(columns).cast(tables.schema(stage, WEIGHT))


def _answer(work: Path, graph: Folder, stage: str, table: pa.Table, files: int) -> Folder:
    def write(folder: Path) -> dict[str, Any]:
        for number in range(files):
            part = table[len(table) * number // files : len(table) * (number + 1) // files]
            tables.write_file(folder / tables.file_name(number), stage, WEIGHT, part.to_batches())
        return StageFacts(rows=len(table), weight=WEIGHT, seconds=0.0, backend="cpu").stored()

    return make(work / stage, stage, {"graph": graph.digest}, {}, write)


def _proof(work: Path, graph: Folder, answer: Folder) -> Folder:
    stage = answer.manifest.step
    facts = ProofFacts(stage=stage, backend="cpu", holds=True, rules=["it is a path"], seconds=0.0, oracle=None)
    inputs = {"graph": graph.digest, "answer": answer.digest}
    return make(work / f"proof-{stage}", f"proof-{stage}", inputs, {}, lambda _: facts.stored())


def _page(folder: Path, vertices: int) -> dict[str, Any]:
    (folder / "report.html").write_text(f"<!doctype html><title>path</title><p>{vertices} vertices", encoding="utf-8")
    return {}


def identity(path: Path) -> tuple[int, ...]:
    """The status of a directory entry that only a change alters: reading a link updates its access time."""
    status = path.lstat()
    return status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
