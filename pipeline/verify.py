"""Prove an answer before it is published: its table is read back, and the certificate decides.

What is proved is the table's bytes as the analyst will read them: schema, order, ids, nulls, and then the answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernels.answers import Certificate, Components, Forest, Paths
from kernels.graph import NO_ROW, UNREACHED, Array, Graph
from pipeline import tables
from pipeline.cluster import map_in_order
from pipeline.config import StageName
from pipeline.errors import ProofFailed
from pipeline.manifest import Folder, check, make
from pipeline.stages import WITH_SOURCES, row_of
from pipeline.stored_graph import open_graph

TABLE_RULE = "the table has its schema, every vertex once and in order, and only ids of the graph"


def prove(graph: Folder, answer: Folder, oracle: bool, work: Path) -> Folder:
    """Check an answer's table against the stored graph.

    Parameters
    ----------
    graph, answer : Folder
        The stored graph, and what `run_stage` wrote.
    oracle : bool
        Also solve with a second solver, and compare.

    Returns
    -------
    Folder
        `work / "proof-STAGE"`, without files. Facts: `stage`, `holds`, `rules`, `seconds`, `oracle` (null, or `rules` and
        `seconds`).

    Raises
    ------
    ProofFailed
        With the first broken rule. Nothing is written.
    """
    stage: StageName = answer.manifest.step  # type: ignore[assignment]

    def write(_: Path) -> dict[str, Any]:
        check(answer)
        opened = open_graph(graph)
        certify, solve_again = _provers(stage)
        started = time.perf_counter()
        rules = _require(answer, map_in_order(lambda read: certify(opened, read()), _answers(opened, answer)))
        facts: dict[str, Any] = {
            "stage": stage,
            "holds": True,
            "rules": [TABLE_RULE, *rules],
            "seconds": round(time.perf_counter() - started, 6),
            "oracle": None,
        }
        if oracle:
            started = time.perf_counter()
            rules = _require(answer, map_in_order(lambda read: solve_again(opened, stage, read()), _answers(opened, answer)))
            facts["oracle"] = {"rules": list(rules), "seconds": round(time.perf_counter() - started, 6)}
        return facts

    inputs = {"graph": graph.digest, "answer": answer.digest}
    return make(work / f"proof-{stage}", f"proof-{stage}", inputs, {"oracle": oracle}, write)


def _provers(stage: StageName) -> tuple[Callable[..., Certificate], Callable[..., Certificate]]:
    """The certificate of a stage and the second solver; imported when they run, because compiled code is slow to load."""
    from kernels import certificates
    from kernels.oracle import oracle

    certify: dict[StageName, Callable[..., Certificate]] = {
        "bfs": certificates.certify_bfs,
        "sssp": certificates.certify_sssp,
        "mst": certificates.certify_forest,
        "wcc": certificates.certify_wcc,
        "scc": certificates.certify_scc,
    }
    return certify[stage], oracle


def _require(answer: Folder, verdicts: Iterator[Certificate]) -> tuple[str, ...]:
    rules: tuple[str, ...] = ()
    for verdict in verdicts:
        rules = verdict.rules
        if not verdict.holds:
            raise ProofFailed(f"{answer.manifest.step}: {verdict.reason}")
    return rules


def _answers(graph: Graph, answer: Folder) -> Iterator[Callable[[], Any]]:
    """Readers of the answers that a table holds: one a source, or the only one."""
    stage = answer.manifest.step
    (path,) = tables.files(answer.path)
    file = pq.ParquetFile(path, page_checksum_verification=True)
    expected = tables.schema(stage, answer.facts["weight"])
    if not file.schema_arrow.equals(expected):
        raise ProofFailed(f"{path}: its columns are {file.schema_arrow.names}, not {expected.names} of the stated types")
    if stage not in WITH_SOURCES:
        read = _read_forest if stage == "mst" else _read_components
        yield lambda: read(graph, file.read())
        return
    sources = answer.facts["sources"]
    if file.metadata.num_rows != len(sources) * graph.num_vertices:
        raise ProofFailed(f"{path}: {file.metadata.num_rows} rows for {len(sources)} sources of {graph.num_vertices} vertices")
    groups = tables.groups_of_a_source(graph.num_vertices)
    for number, source in enumerate(sources):
        yield partial(_read_paths, graph, source, path, range(number * groups, (number + 1) * groups))


def _read_paths(graph: Graph, source: int, path: Path, row_groups: range) -> Paths:
    # A reader of its own: ParquetFile is not safe to share between threads.
    table = pq.ParquetFile(path, page_checksum_verification=True).read_row_groups(list(row_groups))
    _require_vertices(graph, table)
    if not (_numpy(table, "source") == source).all():
        raise ProofFailed(f"source {source}: rows of another source among its own")
    distance, predecessor = table["distance"], table["predecessor"]
    length = _numpy(table, "distance", null=UNREACHED)
    if (length < 0).sum() != distance.null_count:
        raise ProofFailed(f"source {source}: a distance is negative")
    before = np.full(table.num_rows, NO_ROW, graph.rows_by_id.dtype)
    known = predecessor.is_valid().to_numpy()
    before[known] = _rows(graph, predecessor.drop_null().to_numpy())
    return Paths(row_of(graph, source), _by_row(graph, length), _by_row(graph, before))


def _read_forest(graph: Graph, table: pa.Table) -> Forest:
    src, dst = _rows(graph, _numpy(table, "src")), _rows(graph, _numpy(table, "dst"))
    tree = _rows(graph, _numpy(table, "labels"))
    weights = _numpy(table, "weight")
    stored = np.dtype(np.int64) if graph.out.weights is None else graph.out.weights.dtype
    labels = np.arange(graph.num_vertices, dtype=graph.rows_by_id.dtype)
    labels[src] = tree
    labels[dst] = tree
    if not (labels[src] == tree).all() or not (labels[dst] == tree).all():
        raise ProofFailed("mst: the edges of a tree have different labels")
    narrowed = weights.astype(stored)
    if not (narrowed == weights).all():
        raise ProofFailed("mst: a weight is not the graph's")
    return Forest(src, dst, narrowed, labels)


def _read_components(graph: Graph, table: pa.Table) -> Components:
    _require_vertices(graph, table)
    return Components(_by_row(graph, _rows(graph, _numpy(table, "labels"))))


def _require_vertices(graph: Graph, table: pa.Table) -> None:
    if not np.array_equal(_numpy(table, "vertex"), graph.ids[graph.rows_by_id]):
        raise ProofFailed("the vertex column is not the graph's vertices, each once, ascending")


def _numpy(table: pa.Table, column: str, null: int | None = None) -> Array:
    values = table[column]
    return (values if null is None else values.fill_null(pa.scalar(null, values.type))).to_numpy()


def _rows(graph: Graph, ids: Array) -> Array:
    """Rows of external ids. Raises ProofFailed for one that the graph does not have."""
    if not len(ids):
        return ids.astype(graph.rows_by_id.dtype)
    places = np.searchsorted(graph.ids, ids, sorter=graph.rows_by_id)
    if not graph.num_vertices:
        raise ProofFailed(f"vertex {ids[0]} is not in the graph")
    rows = graph.rows_by_id[np.minimum(places, graph.num_vertices - 1)]
    for wrong in ids[graph.ids[rows] != ids][:1]:
        raise ProofFailed(f"vertex {wrong} is not in the graph")
    return rows


def _by_row(graph: Graph, ascending: Array) -> Array:
    """Put values that stand in the order of external ids into row order."""
    values = np.empty_like(ascending)
    values[graph.rows_by_id] = ascending
    return values
