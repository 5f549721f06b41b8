"""The seeds of stage `pagerank`: the vertices that a configuration names, with their weights."""

import numpy as np

from kernels.registry import ALGORITHMS
from pipeline.config.run import RunConfig
from pipeline.config.stages import PageRankConfig
from pipeline.errors import BadConfig
from pipeline.ingest.vertex_names import numbers_of
from pipeline.steps.places import different
from pipeline.steps.places.files import placed_in
from pipeline.steps.products.attributes import amounts_at
from pipeline.steps.products.vertices import read_vertices
from pipeline.steps.runtime import Runtime
from pipeline.steps.sources import rows_of_sources
from pipeline.store.manifest import Folder
from pipeline.suggestions import did_you_mean

_STAGES = [algorithm.name for algorithm in ALGORITHMS if algorithm.may_have_seeds]


def with_seeds(config: RunConfig, edges: Folder, graph: Folder, runtime: Runtime) -> RunConfig:
    """The configuration with the external ids of the seeds, ascending, in the place of files and places; and with their weights.

    Raises:
        BadConfig: The weights are not one for each seed, or their column is not there.
        BadInput, BadSource: As `read_vertices` and `given_sources`; or a weight is not a number of at least 0.
    """
    resolved = {}
    for stage in _STAGES:
        table = config.of_stages[stage]
        if stage in config.stages and isinstance(table, PageRankConfig) and table.seeds:
            resolved[stage] = _resolved(stage, table, edges, graph, runtime)
    return config.model_copy(update=resolved)


def _resolved(stage: str, table: PageRankConfig, edges: Folder, graph: Folder, runtime: Runtime) -> PageRankConfig:
    if isinstance(table.seeds, str):
        seeds, weights = _of_file(stage, table, edges, graph, runtime)
    else:
        ids = different(edges, graph, numbers_of(edges, table.seeds), runtime)
        rows_of_sources(graph, ids)
        given = table.seed_weights or [1.0] * len(ids)
        ordered = sorted(zip(ids, map(float, given), strict=True))
        seeds, weights = [seed for seed, _ in ordered], [weight for _, weight in ordered]
    return table.model_copy(update={"seeds": tuple(seeds), "seed_weights": tuple(weights) if table.seed_weights else ()})


def _of_file(stage: str, table: PageRankConfig, edges: Folder, graph: Folder, runtime: Runtime) -> tuple[list[int], list[float]]:
    """The seeds of a file; several places at one vertex are one seed, whose weights are added."""
    file = str(table.seeds)
    if not table.seed_weights:
        seeds: list[int] = read_vertices(file, edges, graph, runtime).tolist()
        return seeds, []
    column, placed, key = str(table.seed_weights), placed_in(file, edges, graph, runtime), f"{stage}.seed_weights"
    if placed is None:
        raise BadConfig(f"{key}: {column!r}: {file} is a file of vertices, not one of places with columns")
    known = placed.places.more.column_names
    if column not in known:
        has = f"has the columns {', '.join(known)}" if known else "has no column besides those of its places"
        raise BadConfig(f"{key}: {column!r}: {file} {has}{did_you_mean(column, known)}")
    vertices, at = np.unique(placed.vertices, return_inverse=True)
    weights = np.bincount(at, amounts_at(placed.places, file, key, column), len(vertices))
    if not weights.sum() > 0:
        raise BadConfig(f"{key}: {column!r}: all weights in {file} are 0")
    return vertices[weights > 0].tolist(), weights[weights > 0].tolist()
