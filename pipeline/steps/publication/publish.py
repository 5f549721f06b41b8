"""Publication: the tables, the report and the manifest of a run appear by one rename, then `latest` becomes a link to them.

A reader sees a complete run or none. The published files are hard links to the files that the steps wrote and the certificates
read; they are hashed again in their final folder. The files of a table of several have names of their own in each run, so a
reader that opens them one by one through `latest` cannot mix two runs.
"""

import datetime as dt
import logging
import os
import time
from dataclasses import field
from pathlib import Path
from typing import Any

from kernels.cpu.parallel import over_items
from kernels.records import dataclass
from pipeline.config.expect import ExpectConfig
from pipeline.errors import BadConfig, Damaged
from pipeline.runtime.backend import Backend
from pipeline.signals import undisturbed
from pipeline.steps.publication.expectations import require_tables
from pipeline.steps.publication.facts import input_of, measure_of, summary, surroundings, tables_of
from pipeline.steps.publication.report_marks import Marks, latest_run
from pipeline.steps.publication.results import Results, custom_facts_of, proofs_of, require_proofs, steps_of
from pipeline.steps.publication.retention import published_at, retire, runs_in
from pipeline.steps.publication.target import Target
from pipeline.store import manifest
from pipeline.store.code import Code
from pipeline.store.deltas.history import HISTORY
from pipeline.store.digests import digest_of_file
from pipeline.store.facts import IndexFacts, PathFacts, QueryFacts
from pipeline.store.facts.run import NamedGraphFacts, PlaceTableFacts, RunFacts, SinceFacts
from pipeline.store.manifest import FileEntry, Folder, Manifest
from pipeline.store.scratch import link_or_copy, scratch
from pipeline.store.workspace import STAMP, linked_run, require_ours
from pipeline.tables import files as tables
from pipeline.tables.definitions import REJECTED

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PublishOptions:
    """How a run is published."""

    target: Target = field(default_factory=Target)
    expect: ExpectConfig = field(default_factory=ExpectConfig)
    # How many runs of the same link stay, the newest ones; 0 keeps all. A run also stays for `retention.READABLE` after the next.
    keep: int = 0
    url: str | None = None  # where the run will be copied to


def publish(
    output: Path,
    results: Results,
    options: PublishOptions | None = None,
    backend: Backend = "cpu",
    fallback: str | None = None,
) -> Folder:
    """Publish the proved answers of one graph as a run.

    Args:
        output: The output folder, held by `workspace`. The run becomes `output/runs/ID`, and `output/latest`, or the link of
            another name that `options` has, a link to it.
        results: Coordinates of the edge list become a table, too.
        options: None is what `PublishOptions()` is.
        backend ({"cpu", "gpu"}): Where this run computed. The facts of each step state where the step was computed, maybe in an
            earlier run.
        fallback: Why a run whose backend is `auto` computed on the CPU.

    Returns:
        `output/runs/ID`. Ids ascend with time and are made of letters, digits and hyphens.

    Raises:
        ProofFailed: An answer has no proof that holds, queries were answered from another index than the proved one, or paths are
            those of other answers or of another graph.
        Damaged: A file differs from the manifest of its step.
        Refused: A table is empty that was not empty in the run before.
        BadConfig: The link's name is taken by something that is not a link to a run.
        OSError: The disk is full or read-only. `latest` is still the run before.
    """
    started, code = time.perf_counter(), Code((__name__,)).version()
    require_proofs(results)
    options = options or PublishOptions()
    target = options.target
    require_ours(output / target.link)
    inputs = {step.manifest.step: step.digest for step in steps_of(results)}
    key = manifest.digest_of([manifest.FORMAT, "run", results.name, inputs, code])
    runs = output / "runs"
    with scratch(runs) as unfinished:
        run_id, created = f"{_next_stamp(runs)}-{key[:8]}", dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        fresh = unfinished / run_id
        fresh.mkdir(0o700)
        steps = {step.manifest.step: summary(step) for step in steps_of(results)}
        figures = results.report.facts.get("figures", {}) if results.report else {}
        own = f"{options.url}/runs/{run_id}" if options.url else str(output.absolute() / "runs" / run_id)
        folder = own if options.url else str(output.absolute() / target.link)
        marks = Marks(run_id, folder, own, steps, figures, latest_run(output / target.link), results.sha256)
        files = _collect(fresh, results, marks)
        dimensions = max((IndexFacts.of(index).dimensions for index in results.indexes), default=0)
        table_facts = tables_of(fresh, {*results.published}, dimensions, measure_of(results.edges, results.graph))
        require_tables(table_facts, options.expect, target)
        optional: dict[str, Any] = {"paths": PathFacts.of(results.paths)} if results.paths else {}
        if results.places:
            optional["places"] = [*results.places]
        if results.placed:
            optional["placed"] = PlaceTableFacts.of(results.placed)
        if results.custom:
            optional["custom"] = {tables.table_of(table.manifest.step): custom_facts_of(table) for table in results.custom}
        if results.changes:
            optional["changes"] = SinceFacts(run=target.previous["run"], **results.changes.facts)
        facts = RunFacts(
            run=run_id,
            published_as=target.link,
            configuration=target.configuration,
            input=input_of(results.edges, results.graph, results.answers, results.sha256, results.capacities),
            graph=NamedGraphFacts(name=results.name, **results.graph.facts),
            tables=table_facts,
            proofs={proof.stage: proof for proof in proofs_of(results)},
            steps=steps,
            reached=QueryFacts.of(results.reached) if results.reached else None,
            backend=backend,
            figures=figures,
            **surroundings(backend, fallback),
            **optional,
        ).stored()
        content = Manifest(
            "run", key, inputs, {"name": results.name}, facts, files, code,
            created, round(time.perf_counter() - started, 6),
        )  # fmt: skip
        manifest.seal(fresh, vars(content))
        manifest.flush_all(fresh)
        with undisturbed():
            _appear(fresh, output / target.link)
            retire(runs, options.keep, unfinished, target.link)
    log.info("run: published as %s, %s names it", runs / run_id, target.link)
    return Folder(runs / run_id, content)


def flush_tables(results: Results) -> None:
    """Flush the files of tables and indexes, to which `publish` will link. Raises OSError."""
    steps = [*results.published.values(), *results.indexes, *filter(None, [results.changes])]
    over_items([step.path / name for step in steps for name in step.manifest.files], manifest.flush)


def open_run(path: Path) -> Folder:
    """Open a published run, `latest` or `runs/ID`, and check every file against the manifest. Raises Damaged."""
    folder = linked_run(path)
    manifest.check(folder)
    return folder


def _next_stamp(runs: Path) -> str:
    """The time in UTC, but later than every run's: ids ascend in order of publication even if the clock is set back."""
    now = dt.datetime.now(dt.UTC).replace(tzinfo=None, microsecond=0)
    latest = max(filter(None, (published_at(run.name) for run in runs_in(runs))), default=dt.datetime.min)
    if latest > now + dt.timedelta(days=1):
        log.warning("%s: its newest run is named %s, in the future; later runs are named after it", runs, latest.strftime(STAMP))
    if latest.year == dt.MAXYEAR:
        raise BadConfig(f"{runs}: has a run of the year {dt.MAXYEAR}, after which none can be named; remove it")
    return max(now, latest + dt.timedelta(seconds=1)).strftime(STAMP)


def _collect(fresh: Path, results: Results, marks: Marks) -> dict[str, FileEntry]:
    """Put the files of a run into `fresh`, and hash them. Raises Damaged if one differs from its step's manifest."""
    indexes, report = results.indexes, results.report
    origins = {
        f"{table}/{name}": (step, file)
        for table, step in results.published.items()
        for file, name in tables.published_names(step).items()
    }
    origins |= {f"{index.manifest.step}/{file}": (index, file) for index in indexes for file in index.manifest.files}
    if REJECTED in results.edges.manifest.files:
        origins[f"{REJECTED.removesuffix('.parquet')}/{tables.file_name(0)}"] = results.edges, REJECTED
    for step in (results.edges, results.graph):  # the graph of changed edges has all files
        if HISTORY in step.manifest.files:
            origins[HISTORY] = (step, HISTORY)
    if results.changes:
        origins |= {file: (results.changes, file) for file in results.changes.manifest.files}
    if report:
        for name in report.manifest.files:
            _require_same(report, name, digest_of_file(_require_file(report.path / name)))
            (fresh / name).write_text(marks.fill_in(name, (report.path / name).read_text("utf-8")), "utf-8")
    for target, (step, file) in origins.items():
        (fresh / target).parent.mkdir(exist_ok=True)
        _link(step.path / file, fresh / target)
    for index in indexes:
        _link(index.path / manifest.FILE, fresh / index.manifest.step / manifest.FILE)
        manifest.read(fresh / index.manifest.step)
    tables.write_coordinates(results.edges, fresh, named=bool(results.named))
    files = manifest.entries(fresh)
    for target, (step, file) in origins.items():
        _require_same(step, file, files[target].blake3)
    return files


def _require_file(path: Path) -> Path:
    if path.is_symlink() or not path.is_file():
        raise Damaged(f"{path}: {'is not a file' if os.path.lexists(path) else 'missing'}")
    return path


def _require_same(step: Folder, file: str, digest: str) -> None:
    if step.manifest.files[file].blake3 != digest:
        raise Damaged(f"{step.path / file}: its BLAKE3 digest differs from its manifest's")


def _link(source: Path, target: Path) -> None:
    link_or_copy(_require_file(source), target)


def _appear(fresh: Path, name: Path) -> None:
    """Rename the complete run into place, then the link `name` to it."""
    runs, link = name.with_name("runs"), fresh.with_name("link")
    link.symlink_to(Path("runs", fresh.name))  # first, because it fails on a full disk
    fresh.rename(runs / fresh.name)
    manifest.flush(runs)
    link.replace(name)
    try:
        manifest.flush(name.parent)
    except OSError as error:  # readers see the run already
        log.warning("%s: published, but a crash of the machine now may undo this: %s", name, error.strerror)
