"""The products that a run's configuration asks for."""

from collections.abc import Callable, Iterator
from functools import partial

from pipeline.config.run import RunConfig
from pipeline.steps.runtime import Runtime
from pipeline.store.manifest import Folder


def products_of(config: RunConfig, edges: Folder, graph: Folder) -> Iterator[tuple[str, Callable[[Runtime], Folder]]]:
    """The names of the steps that `config` asks for, each with its function. Files are read when it is called."""
    if not (config.nearest or config.isochrones or config.closeness or config.flows):
        return
    from pipeline.steps.products import closeness, flows, isochrones, nearest, polygons
    from pipeline.steps.products.vertices import read_vertices

    def tabulate_closeness(asked: str | None, runtime: Runtime) -> Folder:
        sources = read_vertices(asked, edges, graph, runtime) if asked else None
        return closeness.tabulate_closeness(graph, sources, runtime)

    def of_places(step: Callable[..., Folder], asked: object, runtime: Runtime) -> Folder:
        return step(edges, graph, asked, runtime)

    if config.nearest:
        yield nearest.STEP, partial(of_places, nearest.tabulate_nearest, config.nearest)
    if asked := config.isochrones:
        yield isochrones.STEP, partial(of_places, isochrones.tabulate_isochrones, asked)
        if asked.vertices:
            yield isochrones.VERTICES, partial(of_places, isochrones.tabulate_reached, asked)
        if asked.polygons:
            yield polygons.STEP, partial(of_places, polygons.tabulate_polygons, asked)
    if config.closeness:
        yield closeness.STEP, partial(tabulate_closeness, config.closeness.sources)
    if config.flows:
        yield flows.STEP, partial(flows.tabulate_flows, graph, config.flows)


def require_products(config: RunConfig, edges: Folder, graph: Folder, runtime: Runtime) -> None:
    """Raise what the products of a configuration would raise for wrong vertices, thresholds or columns, before the stages run."""
    if not (config.nearest or config.isochrones or config.closeness):
        return
    from pipeline.steps.products import isochrones
    from pipeline.steps.products.vertices import read_vertices

    for file in config.files_of_vertices:
        read_vertices(file, edges, graph, runtime)
    if config.isochrones:
        isochrones.require_isochrones(edges, graph, config.isochrones)
