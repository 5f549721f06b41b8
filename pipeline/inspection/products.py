"""How many trees of shortest paths the products of a run need, and how much their tables take."""

from typing import NamedTuple

import pyarrow.parquet as pq

from kernels.algorithm import Algorithm
from kernels.registry import BY_NAME
from pipeline.config.model import LARGEST
from pipeline.config.products.places import PlacesConfig
from pipeline.config.products.zones import names_cells
from pipeline.config.run import RunConfig
from pipeline.ingest.formats.parquet import reading
from pipeline.ingest.places import count_places
from pipeline.ingest.source import locate
from pipeline.registry.products import PRODUCTS
from pipeline.steps.places.files import has_places
from pipeline.steps.products.vertices import count_vertices

_VALUE = 6.0  # bytes of a value in a table
_ROAD_LIKE = 4  # arcs for each vertex up to which a hierarchy is worth its time


class TreesOfProduct(NamedTuple):
    """What a table of a product needs."""

    number: int
    bytes: float  # of the table
    product: str


def trees_of(config: RunConfig, vertices: int, arcs: int) -> dict[str, TreesOfProduct]:
    """What the products of a configuration need, by their steps; the bytes of some tables are not known, and 0.

    Raises:
        BadInput: A file of vertices or pairs is not there, or cannot be read.
    """
    trees = dict[str, TreesOfProduct]()
    for name, table in config.of_products.items():
        of_files = [rows_of_file(file, config.places) for file in table.vertex_files.values()]
        count = min([vertices, *of_files, *map(rows_of_pairs, table.pair_files.values())])
        for written in PRODUCTS[name].tables_for(table):
            trees[written.name] = TreesOfProduct(
                count if written.swept else 0, _VALUE * written.values(table, count, vertices, arcs), name
            )
    return trees


def are_swept(count: int, vertices: int, arcs: int) -> bool:
    """Whether this number of trees probably comes from a hierarchy; otherwise each source is searched from."""
    from pipeline.steps.products.sweeping import WORTH

    return count >= WORTH and arcs <= _ROAD_LIKE * vertices


def rows_of_file(file: str, places: PlacesConfig) -> int:
    """Vertices, places or pairs of a file; of cells of H3, which nobody has counted, as many as there may be."""
    if names_cells(file):
        return LARGEST
    return count_places(file, locate(file).require_local()) if has_places(file, places) else count_vertices(file)


def rows_of_pairs(file: str) -> int:
    """Pairs of a file. Raises BadInput."""
    path = locate(file).require_local()
    with reading(file):
        rows: int = pq.read_metadata(path).num_rows
    return rows


def seeds_of(config: RunConfig, stage: str) -> int:
    """How many seeds the table of a stage names. Raises BadInput."""
    seeds = config.of_stages[stage].model_dump()["seeds"] if BY_NAME[stage].may_have_seeds else ()
    return rows_of_file(seeds, config.places) if isinstance(seeds, str) else len(seeds)


def answers_of(config: RunConfig, stage: str) -> int:
    """How many answers the table of a stage has. Raises BadInput."""
    if BY_NAME[stage].has_sources:
        return max(1, sources_of(config))
    seeds = seeds_of(config, stage)
    return seeds if seeds and not config.of_stages[stage].model_dump()["together"] else 1


def searches_of(config: RunConfig, stage: Algorithm, num_vertices: int, num_arcs: int) -> int:
    """How many searches a stage makes that states them, or for how many sources it is asked. Raises BadInput."""
    table = config.of_stages[stage.name]
    given = [*table.vertex_lists.values()], [rows_of_file(file, config.places) for file in table.vertex_files.values()]
    if any(given) and not stage.may_have_seeds:
        return sum(map(len, given[0])) + min(sum(given[1]), num_vertices)
    answers = min(answers_of(config, stage.name), num_vertices)
    return int(stage.resolve("searches")(num_vertices, num_arcs, **table.model_dump())) * answers


def sources_of(config: RunConfig) -> int:
    """How many sources a configuration names. Raises BadInput."""
    return rows_of_file(config.sources, config.places) if isinstance(config.sources, str) else len(config.sources)
