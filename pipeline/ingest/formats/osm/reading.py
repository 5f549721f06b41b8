"""The edge list of an OpenStreetMap file."""

import logging
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.config.graph import GraphConfig
from pipeline.ingest.formats.format import EdgeList
from pipeline.ingest.formats.osm.blobs import replication_of
from pipeline.ingest.formats.osm.changed import shown_time
from pipeline.ingest.formats.osm.extract import Extract, Reader, extract
from pipeline.ingest.formats.osm.pbf import PbfReader
from pipeline.ingest.formats.osm.updates import AppliedChanges
from pipeline.ingest.formats.osm.xml import XmlReader
from pipeline.ingest.roads.certificate import DueStreets, WaysRead, due_of, prove
from pipeline.ingest.roads.chains import chains_of
from pipeline.ingest.roads.edges import edge_list_of
from pipeline.ingest.roads.network import Attributes, RoadNetwork
from pipeline.ingest.roads.profile import CLOSED, SIGNALS_AGAINST, SIGNALS_ALONG, Profile
from pipeline.ingest.roads.relations import TurnRelations
from pipeline.ingest.roads.turns import milli_costs, place_restrictions, signals_of, write_turns
from pipeline.store.facts.roads import RoadFacts, TurnFacts

log = logging.getLogger(__name__)


def read_streets(path: Path, file: str, graph: GraphConfig, changes: AppliedChanges | None = None) -> EdgeList:
    """Read the streets of a file that a profile takes, as they are after changes. Raises BadInput."""
    with path.open("rb") as content:
        is_text = content.read(4).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
    reader: Reader = XmlReader(path, file, graph.limits) if is_text else PbfReader(path, file, graph.limits)
    profile = Profile(graph.osm)
    turns = TurnRelations(graph.osm) if graph.osm.obeys else None
    streets = extract(file, reader, profile, turns, changes)
    stated, nodes = _stated(path, file, changes, is_text), streets.nodes
    chains = chains_of(streets.at, streets.ends, nodes.passable, nodes.units)
    speeds = np.array([(one.forward, one.backward, one.seconds) for one in streets.streets], np.int64).reshape(-1, 3)
    classes = [one.highway for one in streets.streets]
    known = Attributes(streets.ways, streets.street, streets.name, nodes.ids, nodes.units, streets.names, classes, speeds)
    network = RoadNetwork(chains, known, graph.osm)
    due = due_of(WaysRead(streets.at, streets.ends, nodes.passable, known, graph.osm.weight == "time", graph.osm.islands))
    read = stated, turns, due
    return edge_list_of(file, graph, network, lambda folder: _proved(file, graph, streets, network, read, folder))


def _stated(path: Path, file: str, changes: AppliedChanges | None, is_text: bool) -> dict[str, Any]:
    """The facts of when an extract was current, and of what was changed since."""
    seconds, number = (None, None) if is_text else replication_of(path, file)
    stated: dict[str, Any] = {} if seconds is None else {"timestamp": shown_time(seconds)}
    stated |= {} if number is None else {"sequence": number}
    return stated | ({"updates": changes.facts()} if changes else {})


def _proved(
    file: str,
    graph: GraphConfig,
    streets: Extract,
    network: RoadNetwork,
    read: tuple[Mapping[str, Any], TurnRelations | None, Future[DueStreets]],
    folder: Path,
) -> RoadFacts:
    """The facts of an edge list that was stored and proved, beside which turns are stored. Raises ProofFailed."""
    stated, turns, due = read
    rules, seconds = prove(due, folder, graph.columns.weight is not False)
    facts = _facts(graph, streets, network).model_copy(update={**stated, "rules": rules, "seconds": seconds})
    if said := _store_turns(graph, streets, network, turns, folder):
        facts = facts.model_copy(update={"turns": said})
    _tell(file, facts)
    return facts


def _store_turns(
    graph: GraphConfig, streets: Extract, network: RoadNetwork, turns: TurnRelations | None, folder: Path
) -> TurnFacts | None:  # fmt: skip
    """Store what is known of turns, and return its facts; None if there is nothing."""
    costs = milli_costs(graph.osm.turns)
    if not costs and not (turns and turns.read):
        return None
    placed, left = place_restrictions(network, turns.restrictions if turns else [])
    marked = [streets.nodes.marked(mark) for mark in (SIGNALS_ALONG, SIGNALS_AGAINST)]
    write_turns(folder, placed, signals_of(network, *marked) if "signals" in costs else None)
    left += turns.left if turns else Counter()
    return TurnFacts(
        relations=turns.read if turns else 0, restrictions=len(placed), left=dict(sorted(left.items())),
        **({"costs": costs} if costs else {}),
    )  # fmt: skip


def _facts(graph: GraphConfig, streets: Extract, network: RoadNetwork) -> RoadFacts:
    """What was read, and what was left out, by the reason."""
    nodes, chains = streets.nodes, network.chains
    assert graph.osm.profile
    return RoadFacts(
        profile=graph.osm.profile, weight=graph.osm.weight, ways=len(streets.ways), ways_left=dict(sorted(streets.left.items())),
        chains=len(chains.way), loops=int(np.count_nonzero(np.equal(*chains.ends))), nodes=len(nodes.ids),
        missing_nodes=int(np.count_nonzero(~nodes.known)), barriers=int(np.count_nonzero(nodes.marked(CLOSED))),
        cut_ways=int(np.count_nonzero(~chains.whole)), repeated_nodes=chains.repeated, duplicate_nodes=nodes.repeated,
        duplicate_ways=streets.repeated, islands=network.islands["islands"],
        island_vertices=network.islands["vertices"], rules=[], seconds=0.0,
    )  # fmt: skip


def _tell(file: str, facts: RoadFacts) -> None:
    """Say in the log what was left out that other tools may keep."""
    if facts.missing_nodes:
        log.warning("%s: %s nodes of streets are not in the file: the streets end before them, as at the border of an extract",
                    file, f"{facts.missing_nodes:,}")  # fmt: skip
    if facts.updates and facts.updates.older:
        log.warning("%s: %s elements of the files of changes are older than those of the extract, which stay",
                    file, f"{facts.updates.older:,}")  # fmt: skip
    log.info("%s: %s ways are streets for %s, %s are not", file, f"{facts.ways:,}", facts.profile,
             f"{sum(facts.ways_left.values()):,}")  # fmt: skip
