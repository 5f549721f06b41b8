"""The products that a run's configuration asks for."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from pipeline.config.model import set_keys
from pipeline.config.products.zones import ZonesConfig, names_cells
from pipeline.config.run import RunConfig
from pipeline.errors import BadConfig
from pipeline.ingest.source import locate
from pipeline.registry.products import PRODUCTS
from pipeline.steps.products.whole_graphs import require_whole_graphs
from pipeline.steps.runtime import Runtime
from pipeline.store.manifest import Folder
from pipeline.tables.definitions import CUSTOM

if TYPE_CHECKING:
    from pipeline.steps.custom.program import UserProgram


def products_of(config: RunConfig, edges: Folder, graph: Folder) -> Iterator[tuple[str, Callable[[Runtime], Folder]]]:
    """The names of the steps that `config` asks for, each with its function. Files are read when it is called."""
    for name, table in config.of_products.items():
        for written in PRODUCTS[name].tables_for(table):
            yield written.name, partial(written.resolve("step"), edges, graph, table)


def custom_of(config: RunConfig, graph: Folder) -> Iterator[tuple[str, Callable[[Runtime], Folder]]]:
    """The names of the steps of the stages that the user wrote, each with its function."""
    if config.custom:
        from pipeline.steps.custom.table import tabulate_custom

        for stage in config.custom:
            yield CUSTOM + stage.name, partial(tabulate_custom, graph, stage)


def require_files(config: RunConfig) -> "dict[str, UserProgram]":
    """The programs of the user's own stages by their names, which are not run.

    Raises, before the graph is read, BadInput for a file that is not on this machine, BadConfig for a key of `[zones]` without
    effect beside files of places, and what `require_custom` raises.
    """
    for file in (*config.files_of_vertices, *config.files_of_pairs, *config.zone_files.values()):
        if not names_cells(file):
            locate(file).require_local()
    _require_zones(config)
    if not config.custom:
        return {}
    from pipeline.steps.custom.table import require_custom

    return {stage.name: require_custom(stage) for stage in config.custom}


def _require_zones(config: RunConfig) -> None:
    """Raise BadConfig for the first key of `[zones]` without effect because files that may have zones have places or vertices.

    Unless options have changed which files there are.
    """
    keys = set_keys(config.zones)
    if not keys or not {"sources", "stages"}.isdisjoint(config.origin.changed):
        return
    from pipeline.ingest.zones.detect import names_zones

    ends = [*dict.fromkeys(config.files_of_vertices)]
    named = [end for end in ends if names_zones(end, config.places, config.zones)]
    files = [*config.zone_files, *(end for end in named if not names_cells(end))]
    for key in ZonesConfig.model_fields:
        if key in keys and not (named if key == "centre" else files):
            others = ", ".join(end for end in ends if end not in named)
            reason = f"there are places or vertices, and no zones, in {others}; name zones, or leave the key out"
            raise BadConfig(f"zones.{key}: has no effect: {reason}")


def require_products(config: RunConfig, edges: Folder, graph: Folder, runtime: Runtime) -> None:
    """Raise what the products of a configuration would raise for wrong vertices, thresholds or columns, before the stages run.

    Also TooLarge as `require_whole_graphs`, if ranks hold the graph.
    """
    if runtime.ranks_of(graph):
        require_whole_graphs(config, graph, runtime.backend)
    if config.files_of_vertices:
        from pipeline.steps.products.vertices import read_vertices

        for file in config.files_of_vertices:
            read_vertices(file, edges, graph, runtime)
    for name, table in config.of_products.items():
        if PRODUCTS[name].require:
            PRODUCTS[name].resolve("require")(edges, graph, table, runtime)
