"""The edge list of a road network."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from pipeline.config.graph import GraphConfig
from pipeline.errors import BadInput
from pipeline.ingest.formats.format import EdgeList
from pipeline.ingest.roads.network import RoadNetwork
from pipeline.store.facts.roads import RoadFacts


def edge_list_of(file: str, graph: GraphConfig, network: RoadNetwork, prove: Callable[[Path], RoadFacts]) -> EdgeList:
    """The arcs of a network with its coordinates and streets; `prove` as in EdgeList. Raises BadInput beyond a limit."""
    try:
        arcs = network.arcs
    except OverflowError as error:
        raise BadInput(file, f"a street takes longer than 2^63 milliseconds: {error}") from None
    if arcs > graph.limits.edges:
        raise BadInput(file, f"has {arcs} arcs, the limit is {graph.limits.edges} edges (graph.limits.edges)")
    weighted = graph.columns.weight is not False
    return EdgeList(
        network.edges(weighted), pa.int64() if weighted else None, states_direction=True, rows=arcs, largest=network.largest,
        coordinates=network.coordinates(), streets=network.streets(), prove=prove,
        measure="milliseconds (travel time)" if graph.osm.weight == "time" else "millimetres (length)",
    )  # fmt: skip
