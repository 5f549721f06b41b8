"""The edge list of a file of Overture's segments."""

import logging
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from kernels.graph import Array
from pipeline.config.graph import GraphConfig
from pipeline.config.roads import OsmConfig
from pipeline.errors import BadInput
from pipeline.ingest.formats.format import EdgeList
from pipeline.ingest.formats.overture.parts import SegmentParts, batches
from pipeline.ingest.formats.overture.proof import prove_names, prove_parts
from pipeline.ingest.formats.overture.rules import RoadRules
from pipeline.ingest.formats.overture.transitions import Transitions
from pipeline.ingest.roads.certificate import WaysRead, due_of, prove
from pipeline.ingest.roads.chains import chains_of
from pipeline.ingest.roads.edges import edge_list_of
from pipeline.ingest.roads.network import Attributes, RoadNetwork
from pipeline.ingest.roads.turns import milli_costs, place_restrictions, write_turns
from pipeline.store.facts.roads import OvertureFacts, RoadFacts, TurnFacts
from pipeline.store.names import VertexNames, names_of

log = logging.getLogger(__name__)


def read_segments(path: Path, file: str, graph: GraphConfig) -> EdgeList:
    """Read the segments of a file that a profile takes. Raises BadInput."""
    rules = RoadRules.of(graph.osm)
    parts = SegmentParts(file, rules, Transitions(rules, graph.osm.obeys))
    for first_row, table in batches(path, file, graph):
        parts.add(first_row, table)
    arrays, streets = parts.arrays(), parts.rules.streets
    at, ends, units, ids = (arrays[name] for name in ("at", "ends", "units", "ids"))
    passable = np.ones(len(units), np.bool_)
    speeds = np.array([(one.forward, one.backward, 0) for one in streets], np.int64).reshape(-1, 3)
    segments = pa.array(parts.segments, pa.string()).take(pa.array(arrays["segment"]))
    known = Attributes(segments, arrays["street"], arrays["name"], np.arange(len(units)), units,
                       pa.array([*parts.names], pa.large_string()),
                       [one.highway for one in streets], speeds, "segment")  # fmt: skip
    network = RoadNetwork(chains_of(at, ends, passable, units), known, graph.osm)
    numbers, names = _numbers(network, ids, len(units))
    if not len(names):
        raise BadInput(file, _nothing(graph.osm, parts))
    network.known = known = replace(known, ids=numbers)
    due = due_of(WaysRead(at, ends, passable, known, graph.osm.weight == "time", graph.osm.islands))

    def proved(folder: Path) -> RoadFacts:
        """The facts of an edge list that was stored and proved. Raises ProofFailed."""
        started = time.perf_counter()
        more = [*prove_parts(parts, path, graph), prove_names(folder, numbers, ids)]
        rules, _ = prove(due, folder, graph.columns.weight is not False)
        facts = _facts(graph, parts, network)
        if turns := _store_turns(graph.osm, parts, network, numbers[arrays["rank"]], folder):
            facts = facts.model_copy(update={"turns": turns})
        _tell(file, facts)
        return facts.model_copy(update={"rules": [*more, *rules], "seconds": round(time.perf_counter() - started, 6)})

    edges = edge_list_of(file, graph, network, proved)
    return replace(edges, names=names, first_id=0, declared_vertices=len(names))


def _nothing(config: OsmConfig, parts: SegmentParts) -> str:
    """Why a file has no street."""
    if parts.segments:
        return (
            f"has no street for profile {config.profile} but islands of fewer than {config.islands} vertices (graph.osm.islands)"
        )
    left = ", ".join(f"{reason} {count:,}" for reason, count in sorted(parts.left.items()))
    return f"has no street for profile {config.profile}; segments that are none: {left or 0}"


def _numbers(network: RoadNetwork, ids: pa.Array, nodes: int) -> tuple[Array, VertexNames]:
    """The numbers of nodes that are vertices, int64 [M], in the order of their ids, and these; those of islands have none."""
    chains = network.chains
    is_end = np.zeros(nodes, np.bool_)
    for end in chains.ends:
        is_end[end] = True
    numbers = np.where(is_end, np.cumsum(is_end) - 1, -1)
    return numbers, names_of(ids.filter(pa.array(is_end[: len(ids)])))


def _store_turns(
    config: OsmConfig, parts: SegmentParts, network: RoadNetwork, numbers: Array, folder: Path
) -> TurnFacts | None:  # fmt: skip
    """Store which turns are prohibited, and return the facts of all turns; None if there is nothing.

    `numbers`, int64 [V], are those of the vertices of parts in the edge list.
    """
    costs, transitions = milli_costs(config.turns), parts.transitions
    read = transitions.read if config.obeys else 0
    if not (read or costs):
        return None
    of = parts.parts_of(transitions.segments) if read else {}
    stated = transitions.restrictions(of, parts.vertices) if read else []
    stated = [one._replace(via=tuple(numbers[list(one.via or ())].tolist())) for one in stated]
    placed, left = place_restrictions(network, stated)
    write_turns(folder, placed, None)
    left += transitions.left if read else Counter()
    return TurnFacts(relations=read, restrictions=len(placed), left=dict(sorted(left.items())),
                     **({"costs": costs} if costs else {}))  # fmt: skip


def _facts(graph: GraphConfig, parts: SegmentParts, network: RoadNetwork) -> RoadFacts:
    """What was read, and what was left out, by the reason."""
    chains, counts = network.chains, parts.counts
    assert graph.osm.profile
    overture = OvertureFacts(
        transitions=parts.transitions.read, conditional=counts["conditional"], closed_parts=counts["closed_parts"],
        apart=counts["apart"],
    )  # fmt: skip
    return RoadFacts(
        profile=graph.osm.profile, weight=graph.osm.weight, ways=len(parts.segments), ways_left=dict(sorted(parts.left.items())),
        chains=len(chains.way), loops=int(np.count_nonzero(np.equal(*chains.ends))), nodes=len(network.known.units),
        missing_nodes=0, barriers=0, cut_ways=0, repeated_nodes=chains.repeated, duplicate_nodes=0,
        duplicate_ways=counts["repeated"], islands=network.islands["islands"], island_vertices=network.islands["vertices"],
        overture=overture, rules=[], seconds=0.0,
    )  # fmt: skip


def _tell(file: str, facts: RoadFacts) -> None:
    """Say in the log what is not as a user may expect."""
    assert facts.overture
    if facts.overture.apart:
        log.warning("%s: connectors are at another place on %s segments than on the first one, which counts",
                    file, f"{facts.overture.apart:,}")  # fmt: skip
    log.info("%s: %s segments are streets for %s, %s are not", file, f"{facts.ways:,}", facts.profile,
             f"{sum(facts.ways_left.values()):,}")  # fmt: skip
