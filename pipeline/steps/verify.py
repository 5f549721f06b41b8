"""Prove an answer before it is published: its table is read back, and the certificate decides.

What is proved is the table's bytes as the analyst will read them: schema, order, ids, nulls, and then the answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from kernels.answers import Certificate
from kernels.graph import Graph
from kernels.registry import BY_NAME
from pipeline.cluster.protocol import HERE, Cluster, Place, map_in_order
from pipeline.config.run import StageName
from pipeline.errors import ProofFailed
from pipeline.runtime.backend import Backend
from pipeline.steps.shard_stages import prove_over_ranks
from pipeline.steps.stages import over_shards_of
from pipeline.store.index import index_of, open_index
from pipeline.store.manifest import Folder, check, make
from pipeline.tables import files as tables
from pipeline.tables.forms import Form, form_of, read_labels

TABLE_RULE = "the table has its schema, every vertex once and in order, and only ids of the graph"


def prove(graph: Folder, answer: Folder, oracle: bool, work: Path, backend: Backend = "cpu", cluster: Cluster = HERE) -> Folder:
    """Check an answer's table against the stored graph.

    Parameters
    ----------
    graph, answer : Folder
        The stored graph, and what `run_stage` wrote.
    oracle : bool
        Also solve with a second solver, and compare.
    backend : {"cpu", "gpu"}
        Where the certificate and the oracle run; an oracle that has no solver for a GPU here runs on the CPU.
    cluster : Cluster
        Who reads the files of the table, each a piece of work, or over whose ranks the certificate runs.

    Returns
    -------
    Folder
        `work / "proof-STAGE"`, without files. Facts: `stage`, `backend`, `holds`, `rules`, `seconds`, `oracle` (null, or
        `rules` and `seconds`), and over ranks `shards`.

    Raises
    ------
    ProofFailed
        With the first broken rule. Nothing is written.
    ClusterLost
        As `cluster.map`.
    """
    stage = answer.manifest.step

    def write(_: Path) -> dict[str, Any]:
        check(answer)
        described = BY_NAME[stage]
        facts: dict[str, Any] = {"stage": stage, "backend": backend, "holds": True, "oracle": None}
        if over_shards_of(graph, cluster) and answer.facts.get("method") != "dfs":
            facts["shards"] = cluster.shards
            rules, seconds = prove_over_ranks(cluster, graph, described, answer, backend)
        else:
            rules, seconds = _require(graph, answer, described.resolve("certificate"), backend, cluster)
        facts |= {"rules": [TABLE_RULE, *rules], "seconds": seconds}
        if oracle and described.oracle:
            from kernels.oracle import solves_on_gpu

            where = backend if described.gpu_oracle and solves_on_gpu(graph.facts["arcs"]) else "cpu"
            rules, seconds = _require(graph, answer, partial(_solve_again, stage), where, cluster)
            facts["oracle"] = {"rules": rules, "seconds": seconds}
        return facts

    inputs = {"graph": graph.digest, "answer": answer.digest}
    return make(work / f"proof-{stage}", f"proof-{stage}", inputs, {"oracle": oracle}, write)


def _solve_again(stage: StageName, graph: Graph, answer: Any) -> Certificate:
    from kernels.oracle import oracle

    return oracle(graph, stage, answer)


def _require(
    graph: Folder, answer: Folder, prove: Callable[..., Certificate], backend: Backend, cluster: Cluster
) -> tuple[list[str], float]:
    """Rules by which `prove(graph, answer)` holds for every answer of a table, and seconds. Raises ProofFailed."""
    started = time.perf_counter()
    rules: tuple[str, ...] = ()
    for found in cluster.map(partial(_prove_files, answer, prove), graph, backend, _files(graph, answer)):
        rules = found or rules
    return list(rules), round(time.perf_counter() - started, 6)


def _files(graph: Folder, answer: Folder) -> list[tuple[list[Path], list[int]]]:
    """Files of a table that hold whole answers, and the sources that each is to have; none where there is but one answer.

    Raises ProofFailed.
    """
    found = tables.files(answer.path)
    if "sources" not in answer.facts:
        return [(found, [])]
    pieces, of_each = tables.by_file(answer.facts["sources"], graph.facts["vertices"]), tables.files_of(graph.facts["vertices"])
    if len(found) != len(pieces) * of_each:
        raise ProofFailed(f"{answer.path}: {len(found)} files, where {len(pieces) * of_each} are due")
    return [(found[number * of_each : (number + 1) * of_each], piece) for number, piece in enumerate(pieces)]


def _prove_files(
    answer: Folder, prove: Callable[..., Certificate], place: Place, piece: tuple[list[Path], list[int]]
) -> tuple[str, ...]:
    """Rules by which the answers of some files hold; none where there are none. Raises ProofFailed."""
    rules: tuple[str, ...] = ()
    readers = _answers(place, answer, *piece)
    for verdict in map_in_order(lambda read: prove(place.graph, read()), readers, place.threads):
        rules = verdict.rules
        if not verdict.holds:
            raise ProofFailed(f"{answer.manifest.step}: {verdict.reason}")
    return rules


def _answers(place: Place, answer: Folder, paths: list[Path], sources: list[int]) -> Iterator[Callable[[], Any]]:
    """Readers of the answers that files hold: one a source, or the only one."""
    stage = answer.manifest.step
    described, graph = BY_NAME[stage], place.graph
    form, rows = form_of(described), sum(require_columns(answer, path) for path in paths)
    if described.has_index:
        index = index_of(answer)
        check(index)
        yield lambda: read_labels(graph, tables.read(answer.path), open_index(index, place.backend))
        return
    if not described.has_sources:
        yield lambda: form.read(graph, tables.read(answer.path))
        return
    if rows != len(sources) * graph.num_vertices:
        raise ProofFailed(f"{paths[0]}: {rows} rows for {len(sources)} sources of {graph.num_vertices} vertices")
    for number, source in enumerate(sources):
        yield partial(_read_source, graph, form, paths, number, source)


def require_columns(answer: Folder, path: Path) -> int:
    """Rows of a file of a table. Raises ProofFailed unless it has the table's columns."""
    file = pq.ParquetFile(path)
    expected = tables.schema(tables.table_of(answer.manifest.step), answer.facts["weight"], answer.facts.get("dimensions", 0))
    if not file.schema_arrow.equals(expected):
        raise ProofFailed(f"{path}: its columns are {file.schema_arrow.names}, not {expected.names} of the stated types")
    return int(file.metadata.num_rows)


def _read_source(graph: Graph, form: Form, paths: list[Path], number: int, source: int) -> Any:
    return form.read(graph, tables.read_answer(paths, number, graph.num_vertices), source)
