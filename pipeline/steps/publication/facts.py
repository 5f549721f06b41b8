"""Facts of a published run that its files and its surroundings give."""

import os
import platform
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from pipeline.runtime.backend import Backend, gpu
from pipeline.store.facts.run import StepFacts, TableFacts
from pipeline.store.manifest import Folder
from pipeline.tables import changes
from pipeline.tables import files as tables
from pipeline.tables.definitions import TABLES

LIBRARIES = ("graphmill", "numpy", "scipy", "numba", "pyarrow")


def tables_of(fresh: Path, dimensions: int, measure: str | None) -> dict[str, TableFacts]:
    """The tables in the folder of a run; `measure` as `pipeline.tables.files.describe`."""
    return {
        folder.name: TableFacts(
            rows=sum(pq.read_metadata(file).num_rows for file in tables.files(folder)),
            columns=_describe(folder.name)(
                folder.name.removesuffix(changes.SUFFIX), pq.read_schema(tables.files(folder)[0]), dimensions, measure
            ),
            files=[file.relative_to(fresh).as_posix() for file in tables.files(folder)],
        )
        for folder in sorted(fresh.iterdir())
        if folder.name.removesuffix(changes.SUFFIX) in TABLES
    }


def _describe(table: str) -> Callable[..., list[dict[str, str]]]:
    return changes.describe if table.endswith(changes.SUFFIX) else tables.describe


def summary(step: Folder) -> StepFacts:
    """A step as its run shows it."""
    manifest = step.manifest
    # `shards` of a graph are the sizes of its shards, which the run's `graph` has
    shown = ("backend",) if manifest.step == "graph" else ("backend", "shards", "supersteps")
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
    return {"python": platform.python_version(), **{library: version(library) for library in LIBRARIES}}
