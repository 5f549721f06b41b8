"""Keys that have no effect beside the others: they are refused, because whoever sets one expects something of it.

A key with its default value says what happens anyway, and is no such key.
"""

from collections.abc import Container, Iterator

from kernels.registry import BY_NAME
from pipeline.config.cluster import ClusterConfig
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.config.model import set_keys
from pipeline.config.products.zones import is_zone_file, names_cells
from pipeline.config.run import RunConfig
from pipeline.errors import BadConfig

_LOCAL, _DASK = ("workers", "threads", "memory"), ("lost_workers", "deadline")
_TLS = ("tls_ca", "tls_cert", "tls_key")


def require_effect(origin: str, config: RunConfig, given: Container[str] | None = None) -> None:
    """Raise BadConfig for a key that has no effect.

    Args:
        origin: With which the message begins.
        given: The keys that options give, such as `cluster.shards`; others are then not looked at. None: all.
    """
    for key, reason in idle_keys(config):
        if given is None or key in given:
            raise BadConfig(f"{origin}: {key}: has no effect: {reason}")


def require_effect_of_cluster(origin: str, cluster: ClusterConfig) -> None:
    """As `require_effect` for a table `[cluster]` alone."""
    for key, reason in _of_cluster(cluster):
        raise BadConfig(f"{origin}: {key}: has no effect: {reason}")


def idle_keys(config: RunConfig) -> Iterator[tuple[str, str]]:
    """The keys of a configuration that have no effect, each with the reason and a way out."""
    stages = ", ".join(config.stages)
    if config.sources and not any(BY_NAME[stage].has_sources for stage in config.stages):
        having = " or ".join(name for name, algorithm in BY_NAME.items() if algorithm.has_sources)
        yield "sources", f"no stage has sources ({stages}); add stage {having}, or leave it out"
    for stage, table in config.of_stages.items():
        if stage not in config.stages:
            for name in set_keys(table):
                yield f"{stage}.{name}", f"stage {stage} does not run ({stages}); add it, or leave the key out"
    if config.limits.gpu_memory and config.backend == "cpu":
        yield "limits.gpu_memory", "the backend is cpu; choose gpu or auto, or leave it out"
    for name, table in (config.of_stages | config.of_products).items():
        yield from ((f"{name}.{key}", reason) for key, reason in table.idle_keys())
    if not (config.files_of_vertices or config.files_of_pairs):
        listed = {"attach"} if any(isinstance(one, str) for one in config.listed_sources) else set()
        for name in set_keys(config.places) - listed:
            yield f"places.{name}", "no file of places is named, such as facilities or sources; name one, or leave the key out"
    ends = config.files_of_vertices
    files, cells = any(map(is_zone_file, ends)), any(map(names_cells, ends))
    for name in set_keys(config.zones):
        if name == "centre" and not (files or cells):
            yield f"zones.{name}", "no zones are sources or facilities; name some, such as h3:8, or leave the key out"
        if name != "centre" and not (files or config.zone_files):
            yield f"zones.{name}", "no file of zones is named; name one by zone, or leave the key out"
    yield from _of_graph(config.graph)
    yield from _of_parallel(config.graph)
    yield from _of_layout(config.layout, config.cluster.shards)
    yield from ((f"cluster.{key}", reason) for key, reason in _of_cluster(config.cluster))


def _of_graph(graph: GraphConfig) -> Iterator[tuple[str, str]]:
    if graph.crs and not graph.coordinates:
        yield "graph.crs", "no file of coordinates is named; name it below [graph], or leave the key out"
    for name in set_keys(graph.node_columns):
        if not (graph.coordinates and name != "declare") and (name in ("x", "y") or not graph.nodes):
            needed = {"x": "coordinates", "y": "coordinates", "declare": "nodes"}.get(name, "nodes or coordinates")
            yield f"graph.node_columns.{name}", f"no file of {needed} is named; name it below [graph], or leave the key out"
    if not graph.columns.oneway:
        for name in set_keys(graph.oneway):
            yield f"graph.oneway.{name}", "no column has such values; name it in graph.columns.oneway, or leave the key out"
    if not graph.columns.speed:
        for name in set_keys(graph.speed):
            yield f"graph.speed.{name}", "no column has speeds; name it in graph.columns.speed, or leave the key out"
    elif graph.weight.unit:
        yield "graph.weight.unit", "travel times, which graph.columns.speed asks for, are milliseconds; leave the key out"
    elif graph.columns.reverse_weight:
        reason = "graph.columns.speed makes the weights of both directions from lengths; leave one of both out"
        yield "graph.columns.reverse_weight", reason
    if graph.osm.profile or graph.columns.weight is False:
        reason = "weights are ignored (columns.weight is false); read them, or leave the key out"
        if graph.osm.profile:
            reason = "arcs weigh milliseconds or millimetres, as graph.osm.weight says; leave the key out"
        for name in set_keys(graph.weight):
            yield f"graph.weight.{name}", reason


def _of_parallel(graph: GraphConfig) -> Iterator[tuple[str, str]]:
    if graph.columns.order and graph.parallel not in ("first", "last"):
        yield "graph.columns.order", 'no rule needs it; set parallel = "first" or "last" below [graph], or leave the key out'
    if graph.parallel == "count":
        keys = [f"weight.{name}" for name in set_keys(graph.weight)] + ["columns.speed"] * bool(graph.columns.speed)
        yield from ((f"graph.{key}", "an edge weighs the number of its rows (parallel); leave the key out") for key in keys)


def _of_layout(layout: LayoutConfig, ranks: int) -> Iterator[tuple[str, str]]:
    keys = set_keys(layout)
    if "window" in keys and layout.order != "windowed" and ("order" in layout.model_fields_set or not ranks):
        yield "layout.window", f'the order is {layout.order}; set order = "windowed", or leave the key out'
    if "shards" in keys and ranks:
        yield "layout.shards", f"{ranks} ranks hold the graph, one shard each (cluster.shards); leave one of both out"


def _of_cluster(cluster: ClusterConfig) -> Iterator[tuple[str, str]]:
    keys, scheduler = set_keys(cluster), cluster.scheduler
    reasons = dict.fromkeys(keys.intersection(_LOCAL if scheduler != "local" else ()), "it is for local processes")
    reasons |= dict.fromkeys(keys.intersection(_DASK if scheduler == "none" else ()), "it is for workers of a scheduler")
    reasons |= dict.fromkeys(keys.intersection(() if scheduler.startswith("tls://") else _TLS), "it is for a tls:// scheduler")
    for key in (name for name in ClusterConfig.model_fields if name in reasons):
        better = "a tls:// address" if key in _TLS else '"local"'
        yield key, f'{reasons[key]}, and the scheduler is "{scheduler}"; set scheduler = {better}, or leave the key out'
