"""The products that a run's configuration asks for."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from pipeline.config.products.zones import names_cells
from pipeline.config.run import RunConfig
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

    Raises, before the graph is read, BadInput for a file that is not on this machine, and what `require_custom` raises.
    """
    for file in (*config.files_of_vertices, *config.files_of_pairs, *config.zone_files.values()):
        if not names_cells(file):
            locate(file).require_local()
    if not config.custom:
        return {}
    from pipeline.steps.custom.table import require_custom

    return {stage.name: require_custom(stage) for stage in config.custom}


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
