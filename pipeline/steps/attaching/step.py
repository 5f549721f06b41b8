"""The step that attaches places to streets: an edge list with a vertex at the foot of each place, and its proof."""

import logging
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from kernels.graph import Array
from pipeline import progress
from pipeline.errors import BadSource
from pipeline.ingest.vertex_names import ORDER
from pipeline.steps.attaching import STEP
from pipeline.steps.attaching.dividing import feet_of
from pipeline.steps.attaching.lines import StreetLines, lines_of
from pipeline.steps.attaching.nearest import NearestSegments, SegmentTree
from pipeline.steps.attaching.points import GivenPoints
from pipeline.steps.attaching.proof import prove
from pipeline.steps.attaching.storing import numbered, write
from pipeline.steps.places import text_of
from pipeline.steps.runtime import Runtime
from pipeline.store.edges import unchanged
from pipeline.store.facts.roads import AttachFacts
from pipeline.store.manifest import Folder, make, unsealed
from pipeline.store.names import open_names
from pipeline.tables.points import on_sphere
from pipeline.tables.streets import way_of
from pipeline.units import length

log = logging.getLogger(__name__)


def attach_places(edges: Folder, points: GivenPoints, runtime: Runtime, beyond: int = 0) -> Folder:
    """Divide the streets of an edge list at the feet of places, in `work / "attached"`.

    Args:
        beyond: New vertices have larger ids than this one.

    Returns:
        An edge list as `pipeline.ingest.ingest` writes it, in the place of `edges`, with the vertices at feet; `feet.parquet` has
        the foot of each place. Fact `attached` (`AttachFacts`) has counts and the proof.

    Raises:
        BadSource: A place is farther than the limit from every street that may have it.
        BadInput: The edges have no weights or coordinates, or their weights cannot be divided exactly.
        Changed: The source to which the edge list refers is not the file that was ingested.
        ProofFailed: What was written is not the same streets, or a place is not at the nearest one. Nothing is written.
    """

    def write_all(folder: Path) -> dict[str, Any]:
        runtime.held_edges.take(edges)  # their memory is needed
        with unchanged(edges, runtime.held_edges.sources.get(edges.digest)):
            progress.phase("attaching places")
            lines = lines_of(edges)
            nearest = _nearest(lines, points, edges, runtime)
            feet = feet_of(lines, nearest)
            numbering = numbered(edges, lines, feet, beyond)
            facts = write(folder, edges, lines, feet, numbering, points.places)
            progress.phase("proving")
            proof = prove(edges, Folder(folder, unsealed(STEP, facts.stored())), points.places, runtime.snap)
            attached = AttachFacts(
                places=len(points.places), vertices=len(numbering.stops), streets=len(np.unique(feet.stop_street)),
                at_crossings=int(np.count_nonzero(feet.vertex >= 0)), farthest=float(nearest.metres.max(initial=0.0)),
                rules=proof.rules, seconds=proof.seconds,
            )  # fmt: skip
        log.info("places: %s are on streets, %s of them at crossings; the farthest is %s away", f"{attached.places:,}",
                 f"{attached.at_crossings:,}", length(attached.farthest))  # fmt: skip
        return facts.model_copy(update={"attached": attached}).stored()

    snap = runtime.snap
    given = sha256(np.ascontiguousarray(points.places).tobytes()).hexdigest()
    parameters = {"places": given, "limit": snap.limit, "to": snap.to, "beyond": beyond}
    return make(runtime.work / STEP, STEP, {"edges": edges.digest}, parameters, write_all)


def _nearest(lines: StreetLines, points: GivenPoints, edges: Folder, runtime: Runtime) -> NearestSegments:
    """The nearest points of streets that may have places. Raises BadSource for the first place that is too far away."""
    allowed, limit = lines.allowed(runtime.snap.to), runtime.snap.limit
    tree = SegmentTree(lines.vectors, segments(lines, allowed))
    nearest = tree.of(on_sphere(*points.places.T), limit)
    far = np.flatnonzero(nearest.segment < 0)
    if len(far):
        row = points.first_of(far)
        raise BadSource(_refusal(points.text(row), points.places[row], lines, tree, edges, runtime))
    return nearest


def segments(lines: StreetLines, chosen: Array) -> Array:
    """The points at which the segments of chosen streets begin, int64 [S]."""
    begins = np.repeat(chosen, np.diff(lines.first))
    begins[lines.first[1:] - 1] = False
    return np.flatnonzero(begins)


def _refusal(what: str, place: Array, lines: StreetLines, tree: SegmentTree, edges: Folder, runtime: Runtime) -> str:
    """Why a place is on no street, and what the user may have meant."""
    whole = bool(lines.allowed(runtime.snap.to).all())
    of, limit = "" if whole else " of the largest component", runtime.snap.limit
    nearest = tree.of(on_sphere(*place)[np.newaxis], np.inf)
    if nearest.segment[0] < 0:
        return f"{what} is a place, but the graph has no street with coordinates{of}"
    apart, street = length(float(nearest.metres[0])), _street_at(int(nearest.segment[0]), lines, edges)
    said = f"{what} is {apart} from the nearest street{of}, {street}; the limit is {limit:,.10g} m (snap_limit)"
    turned = place[::-1]
    if abs(turned[1]) <= 90:
        other = tree.of(on_sphere(*turned)[np.newaxis], limit)
        if other.segment[0] >= 0:
            return f"{said}; {text_of(turned)} is {length(float(other.metres[0]))} from a street: {ORDER}"
    if not whole:
        every = SegmentTree(lines.vectors, segments(lines, lines.allowed("any"))).of(on_sphere(*place)[np.newaxis], limit)
        if every.segment[0] >= 0:
            street, apart = _street_at(int(every.segment[0]), lines, edges), length(float(every.metres[0]))
            island = f"{street} of a smaller component is {apart} away"
            return f'{said}; {island}: snap_to = "any" takes it'
    return f"{said}; {ORDER}"


def _street_at(point: int, lines: StreetLines, edges: Folder) -> str:
    """The street of a point for messages."""
    street = int(np.searchsorted(lines.first, point, side="right")) - 1
    if lines.table is not None:
        name = lines.table["name"][street].as_py()
        way = way_of(lines.table.column_names)
        return f"{way} {lines.table[way][street]}{f' ({name})' if name else ''}"
    names = open_names(edges)
    ends = [int(end[street]) for end in (lines.src, lines.dst)]
    return f"from {' to '.join(names.text(end) if names else str(end) for end in ends)}"
