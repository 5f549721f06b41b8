"""Prove an answer before it is published: its table is read back, and the certificate decides.

What is proved is the table's bytes as the analyst will read them: schema, order, ids, nulls, and then the answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from kernels.answers import Certificate
from kernels.graph import Graph
from pipeline import tables
from pipeline.answer_tables import Form
from pipeline.backend import Backend, open_on
from pipeline.cluster import map_in_order
from pipeline.config import StageName
from pipeline.errors import ProofFailed
from pipeline.manifest import Folder, check, make
from pipeline.stages import BY_NAME
from pipeline.stored_index import index_of, open_index

TABLE_RULE = "the table has its schema, every vertex once and in order, and only ids of the graph"


def prove(graph: Folder, answer: Folder, oracle: bool, work: Path, backend: Backend = "cpu") -> Folder:
    """Check an answer's table against the stored graph.

    Parameters
    ----------
    graph, answer : Folder
        The stored graph, and what `run_stage` wrote.
    oracle : bool
        Also solve with a second solver, and compare.
    backend : {"cpu", "gpu"}
        Where the certificate and the oracle run; an oracle that has no solver for a GPU here runs on the CPU.

    Returns
    -------
    Folder
        `work / "proof-STAGE"`, without files. Facts: `stage`, `backend`, `holds`, `rules`, `seconds`, `oracle` (null, or
        `rules` and `seconds`).

    Raises
    ------
    ProofFailed
        With the first broken rule. Nothing is written.
    """
    stage: StageName = answer.manifest.step  # type: ignore[assignment]

    def write(_: Path) -> dict[str, Any]:
        check(answer)
        rules, seconds = _require(graph, answer, resolve_name(BY_NAME[stage].certificate), backend)
        facts: dict[str, Any] = {"stage": stage, "backend": backend, "holds": True, "oracle": None}
        facts |= {"rules": [TABLE_RULE, *rules], "seconds": seconds}
        if oracle:
            from kernels.oracle import oracle as solve_again
            from kernels.oracle import solves_on_gpu

            where = backend if solves_on_gpu(graph.facts["arcs"]) and not BY_NAME[stage].has_index else "cpu"
            rules, seconds = _require(graph, answer, lambda opened, found: solve_again(opened, stage, found), where)
            facts["oracle"] = {"rules": rules, "seconds": seconds}
        return facts

    inputs = {"graph": graph.digest, "answer": answer.digest}
    return make(work / f"proof-{stage}", f"proof-{stage}", inputs, {"oracle": oracle}, write)


def _require(graph: Folder, answer: Folder, prove: Callable[..., Certificate], backend: Backend) -> tuple[list[str], float]:
    """Rules by which `prove(graph, answer)` holds for every answer of a table, and seconds. Raises ProofFailed."""
    opened = open_on(graph, backend)
    started = time.perf_counter()
    rules: tuple[str, ...] = ()
    for verdict in map_in_order(lambda read: prove(opened, read()), _answers(opened, answer, backend), backend):
        rules = verdict.rules
        if not verdict.holds:
            raise ProofFailed(f"{answer.manifest.step}: {verdict.reason}")
    return list(rules), round(time.perf_counter() - started, 6)


def _answers(graph: Graph, answer: Folder, backend: Backend) -> Iterator[Callable[[], Any]]:
    """Readers of the answers that a table holds: one a source, or the only one."""
    stage: StageName = answer.manifest.step  # type: ignore[assignment]
    described = BY_NAME[stage]
    (path,) = tables.files(answer.path)
    file = pq.ParquetFile(path, page_checksum_verification=True)
    expected = tables.schema(tables.table_of(stage), answer.facts["weight"], answer.facts.get("dimensions", 0))
    if not file.schema_arrow.equals(expected):
        raise ProofFailed(f"{path}: its columns are {file.schema_arrow.names}, not {expected.names} of the stated types")
    form = described.form
    if described.has_index:
        index = index_of(answer)
        check(index)
        yield lambda: form.read(graph, file.read(), open_index(index, backend))
        return
    if not described.has_sources:
        yield lambda: form.read(graph, file.read())
        return
    sources = answer.facts["sources"]
    if file.metadata.num_rows != len(sources) * graph.num_vertices:
        raise ProofFailed(f"{path}: {file.metadata.num_rows} rows for {len(sources)} sources of {graph.num_vertices} vertices")
    groups = tables.groups_of_a_source(graph.num_vertices)
    for number, source in enumerate(sources):
        yield partial(_read_source, graph, form, path, source, range(number * groups, (number + 1) * groups))


def _read_source(graph: Graph, form: Form, path: Path, source: int, row_groups: range) -> Any:
    # A reader of its own: ParquetFile is not safe to share between threads.
    table = pq.ParquetFile(path, page_checksum_verification=True).read_row_groups(list(row_groups))
    if not pc.all(pc.equal(table["source"], source)).as_py():
        raise ProofFailed(f"source {source}: rows of another source among its own")
    return form.read(graph, table)
