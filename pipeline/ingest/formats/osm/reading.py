"""The edge list of an OpenStreetMap file."""

import logging
from pathlib import Path

import numpy as np
import pyarrow as pa

from pipeline.config.graph import GraphConfig
from pipeline.errors import BadInput
from pipeline.ingest.formats.format import EdgeList
from pipeline.ingest.formats.osm.extract import Extract, Reader, extract
from pipeline.ingest.formats.osm.pbf import PbfReader
from pipeline.ingest.formats.osm.xml import XmlReader
from pipeline.ingest.roads.certificate import WaysRead, prove
from pipeline.ingest.roads.chains import chains_of
from pipeline.ingest.roads.network import Attributes, RoadNetwork
from pipeline.ingest.roads.profile import Profile
from pipeline.store.facts.roads import RoadFacts

log = logging.getLogger(__name__)


def read_streets(path: Path, file: str, graph: GraphConfig) -> EdgeList:
    """Read the streets of a file that a profile takes. Raises BadInput."""
    with path.open("rb") as content:
        is_text = content.read(4).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
    reader: Reader = XmlReader(path, file, graph.limits) if is_text else PbfReader(path, file, graph.limits)
    profile = Profile(graph.osm)
    streets = extract(file, reader, profile)
    nodes = streets.nodes
    chains = chains_of(streets.at, streets.ends, nodes.known & ~nodes.closed, nodes.units)
    speeds = np.array([(one.forward, one.backward, one.seconds) for one in streets.streets], np.int64).reshape(-1, 3)
    classes = [one.highway for one in streets.streets]
    known = Attributes(streets.ways, streets.street, streets.name, nodes.ids, nodes.units, streets.names, classes, speeds)
    network = RoadNetwork(chains, known, graph.osm)
    try:
        arcs = network.arcs
    except OverflowError as error:
        raise BadInput(file, f"a street takes longer than 2^63 milliseconds: {error}") from None
    if arcs > graph.limits.edges:
        raise BadInput(file, f"has {arcs} arcs, the limit is {graph.limits.edges} edges (graph.limits.edges)")
    weighted = graph.columns.weight is not False
    measure = "milliseconds (travel time)" if graph.osm.weight == "time" else "millimetres (length)"
    return EdgeList(
        network.edges(weighted), pa.int64() if weighted else None, states_direction=True, rows=arcs, largest=network.largest,
        coordinates=network.coordinates(), streets=network.streets(), measure=measure,
        prove=lambda folder: _proved(file, graph, streets, network, folder),
    )  # fmt: skip


def _proved(file: str, graph: GraphConfig, streets: Extract, network: RoadNetwork, folder: Path) -> RoadFacts:
    """The facts of an edge list that was stored and proved. Raises ProofFailed."""
    passable = streets.nodes.known & ~streets.nodes.closed
    claim = WaysRead(streets.at, streets.ends, passable, network.known, graph.osm.weight == "time", graph.osm.islands)
    rules, seconds = prove(claim, folder, graph.columns.weight is not False)
    facts = _facts(graph, streets, network).model_copy(update={"rules": rules, "seconds": seconds})
    _tell(file, facts)
    return facts


def _facts(graph: GraphConfig, streets: Extract, network: RoadNetwork) -> RoadFacts:
    """What was read, and what was left out, by the reason."""
    nodes, chains = streets.nodes, network.chains
    assert graph.osm.profile
    return RoadFacts(
        profile=graph.osm.profile, weight=graph.osm.weight, ways=len(streets.ways), ways_left=dict(sorted(streets.left.items())),
        chains=len(chains.way), loops=int(np.count_nonzero(np.equal(*chains.ends))), nodes=len(nodes.ids),
        missing_nodes=int(np.count_nonzero(~nodes.known)), barriers=int(np.count_nonzero(nodes.closed)),
        cut_ways=int(np.count_nonzero(~chains.whole)), repeated_nodes=chains.repeated, duplicate_nodes=nodes.repeated,
        duplicate_ways=streets.repeated, islands=network.islands["islands"],
        island_vertices=network.islands["vertices"], rules=[], seconds=0.0,
    )  # fmt: skip


def _tell(file: str, facts: RoadFacts) -> None:
    """Say in the log what was left out that other tools may keep."""
    if facts.missing_nodes:
        log.warning("%s: %s nodes of streets are not in the file: the streets end before them, as at the border of an extract",
                    file, f"{facts.missing_nodes:,}")  # fmt: skip
    log.info("%s: %s ways are streets for %s, %s are not", file, f"{facts.ways:,}", facts.profile,
             f"{sum(facts.ways_left.values()):,}")  # fmt: skip
