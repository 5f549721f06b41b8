"""The products that a run's configuration asks for."""

from collections.abc import Callable, Iterator
from functools import partial

from pipeline.config.run import RunConfig
from pipeline.registry.products import PRODUCTS
from pipeline.steps.runtime import Runtime
from pipeline.store.manifest import Folder
from pipeline.tables.definitions import CUSTOM


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


def require_products(config: RunConfig, edges: Folder, graph: Folder, runtime: Runtime) -> None:
    """Raise, before the stages run, what products and the user's own stages would raise for wrong vertices, columns or files."""
    if config.custom:
        from pipeline.steps.custom.table import require_custom

        for stage in config.custom:
            require_custom(stage)
    if config.files_of_vertices:
        from pipeline.steps.products.vertices import read_vertices

        for file in config.files_of_vertices:
            read_vertices(file, edges, graph, runtime)
    for name, table in config.of_products.items():
        if PRODUCTS[name].require:
            PRODUCTS[name].resolve("require")(edges, graph, table)
