"""The facts of steps that other steps use, with their types: the only place that reads them from a manifest's JSON."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from typing import Any, TypeVar

from pipeline.errors import Damaged
from pipeline.store.manifest import Folder

Facts = TypeVar("Facts", bound="_Facts")


class _Facts:
    @classmethod
    def of(cls: type[Facts], folder: Folder) -> Facts:
        """Read the facts of a folder. Raises Damaged where one is missing; the manifest may have others."""
        found: dict[str, Any] = {}
        for field in fields(cls):  # type: ignore[arg-type]  # every subclass is a dataclass
            if field.name in folder.facts:
                found[field.name] = folder.facts[field.name]
            elif field.default is MISSING:
                raise Damaged(f"{folder.path}: its manifest has no fact {field.name!r}")
        return cls(**found)


@dataclass(frozen=True)
class EdgeFacts(_Facts):
    """Of an edge list: its edges, whether they are directed, and the Arrow type of the weights.

    `declared_vertices` ids from `first_id` on exist also without an edge.
    """

    edges: int
    directed: bool
    weight: str | None
    first_id: int | None = None
    declared_vertices: int | None = None


@dataclass(frozen=True)
class GraphFacts(_Facts):
    """Of a stored graph: see `pipeline.steps.layout.lay_out`."""

    vertices: int
    arcs: int
    symmetric: bool
    weight: str | None
    stored_weight: str | None
    shards: list[dict[str, Any]]
    out: dict[str, Any]


@dataclass(frozen=True)
class IndexFacts(_Facts):
    """Of a reachability index: see `pipeline.steps.index.build_index`."""

    vertices: int
    components: int
    arcs: int
    dimensions: int
    seed: int
    method: str
    compared_paths: list[bool]
    format: int | None = None


@dataclass(frozen=True)
class StageFacts(_Facts):
    """Of an answer: see `pipeline.steps.stages.run_stage`. `dimensions` and `method` are those of its index."""

    weight: str | None
    sources: list[int] | None = None
    dimensions: int = 0
    method: str | None = None

    @property
    def num_answers(self) -> int:
        """Number of answers in the table: one for each source, or one."""
        return 1 if self.sources is None else len(self.sources)


@dataclass(frozen=True)
class ProofFacts(_Facts):
    """Of a proof: the stage, and whether its answer holds."""

    stage: str
    holds: bool
