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
from pipeline.cluster import map_in_order
from pipeline.config import StageName
from pipeline.errors import ProofFailed
from pipeline.manifest import Folder, check, make
from pipeline.stages import BY_NAME
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
        certify = resolve_name(BY_NAME[stage].certificate)
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
            from kernels.oracle import oracle as solve_again

            started = time.perf_counter()
            rules = _require(answer, map_in_order(lambda read: solve_again(opened, stage, read()), _answers(opened, answer)))
            facts["oracle"] = {"rules": list(rules), "seconds": round(time.perf_counter() - started, 6)}
        return facts

    inputs = {"graph": graph.digest, "answer": answer.digest}
    return make(work / f"proof-{stage}", f"proof-{stage}", inputs, {"oracle": oracle}, write)


def _require(answer: Folder, verdicts: Iterator[Certificate]) -> tuple[str, ...]:
    rules: tuple[str, ...] = ()
    for verdict in verdicts:
        rules = verdict.rules
        if not verdict.holds:
            raise ProofFailed(f"{answer.manifest.step}: {verdict.reason}")
    return rules


def _answers(graph: Graph, answer: Folder) -> Iterator[Callable[[], Any]]:
    """Readers of the answers that a table holds: one a source, or the only one."""
    stage: StageName = answer.manifest.step  # type: ignore[assignment]
    (path,) = tables.files(answer.path)
    file = pq.ParquetFile(path, page_checksum_verification=True)
    expected = tables.schema(stage, answer.facts["weight"])
    if not file.schema_arrow.equals(expected):
        raise ProofFailed(f"{path}: its columns are {file.schema_arrow.names}, not {expected.names} of the stated types")
    form = BY_NAME[stage].form
    if not BY_NAME[stage].has_sources:
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
