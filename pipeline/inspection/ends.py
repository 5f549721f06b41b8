"""The ends of a path as users name them: a vertex, a place of the run's table `places`, or the coordinates of any place."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.config.model import Snap
from pipeline.errors import BadSource, Damaged
from pipeline.ingest.vertex_names import ORDER, place_of
from pipeline.steps.places.sphere import NearestPoints
from pipeline.store.facts.run import RunFacts
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables
from pipeline.tables.definitions import PLACES
from pipeline.tables.points import on_sphere
from pipeline.units import length

_VERTEX, _PLACE = "vertex:", "place:"  # what says which of both is meant


class VerticesOfRun(Protocol):
    """What a run's tables say of its vertices."""

    def known(self, one: str) -> int | None:
        """The external id of the vertex of an id; None if there is no such vertex."""

    def numbers(self, ids: list[str]) -> list[int]:
        """The external ids of vertices. Raises BadSource."""

    def placed(self) -> pa.Table | None:
        """Columns `vertex`, `component`, `x` and `y` of all vertices; None if the run does not have them."""


def vertices_of(run: Folder, facts: RunFacts, described: VerticesOfRun, texts: Sequence[str]) -> list[int]:
    """The external ids of the vertices that texts name.

    A text is the id of a vertex or of a place, or otherwise `LON,LAT`. `vertex:ID`, `place:ID` and `KEY:ID`, with the key of the
    configuration that names the place's file, say what is meant.

    Raises:
        BadSource: A text names nothing, or a vertex and a place, or two places, not at one vertex. Or a place is too far away.
        Damaged: A table cannot be read.
    """
    return [_vertex_of(run, facts, described, text) for text in texts]


def _vertex_of(run: Folder, facts: RunFacts, described: VerticesOfRun, text: str) -> int:
    meanings = dict(_meanings(run, facts, described, text))
    vertices = {*meanings.values()}
    if len(vertices) > 1:
        listed = " and ".join(f"{meant} (vertex {vertex})" for meant, vertex in meanings.items())
        raise BadSource(f"{text[:80]!r} may be {listed}; write one of these")
    if vertices:
        return vertices.pop()
    if (place := place_of(text)) is not None and (vertex := _nearest(run, facts, described, text, place)) is not None:
        return vertex
    if PLACES in facts.tables:
        raise BadSource(f"{text[:80]!r} is neither a vertex of the graph nor a place of this run")
    (number,) = described.numbers([text])
    return number


def _meanings(run: Folder, facts: RunFacts, described: VerticesOfRun, text: str) -> Iterator[tuple[str, int]]:
    """What a text may mean, each in a form that means nothing else, with its vertex."""
    for id_of_vertex in {text, text.removeprefix(_VERTEX)}:
        if (vertex := described.known(id_of_vertex)) is not None:
            yield f"{_VERTEX}{id_of_vertex}", vertex
    if PLACES not in facts.tables:
        return
    ids = {text, text.removeprefix(_PLACE), text.partition(":")[2]}
    for key, id_of_place, vertex in _places(run, ids):
        if text in (id_of_place, f"{_PLACE}{id_of_place}", f"{key}:{id_of_place}"):
            yield f"{key}:{id_of_place}", vertex


def _places(run: Folder, ids: set[str]) -> Iterator[tuple[str, str, int]]:
    """The key, the id and the vertex of each place with one of some ids."""
    try:
        rows = tables.read(run.path / PLACES, columns=["key", "id", "vertex"])
    except (OSError, pa.ArrowException) as error:
        raise Damaged(f"{run.path / PLACES}: {error}") from None
    texts = rows["id"].cast(pa.string())
    of_ids = rows.set_column(1, "id", texts).filter(pc.is_in(texts, pa.array(sorted(ids), pa.string())))
    yield from ((row["key"], row["id"], row["vertex"]) for row in of_ids.to_pylist())


def _nearest(run: Folder, facts: RunFacts, described: VerticesOfRun, text: str, place: tuple[float, float]) -> int | None:
    """The vertex nearest to a place, as the run would choose it; None if it has no coordinates."""
    if facts.input.attached:
        return _attached(run, facts, text, place)
    if (rows := described.placed()) is None:
        return None
    values = facts.configuration.values
    snap = Snap(values.get("snap_limit", Snap.limit), values.get("snap_to", Snap.to))
    if snap.to == "largest":
        names, sizes = np.unique(rows["component"].to_numpy(), return_counts=True)
        rows = rows.filter(pc.equal(rows["component"], int(names[sizes.argmax()]))) if len(names) else rows
    rows = rows.drop_null()
    points = NearestPoints(on_sphere(rows["x"].to_numpy(), rows["y"].to_numpy()))
    numbers, (metres,) = points.of(on_sphere(*map(np.array, place))[np.newaxis])
    if metres > snap.limit:
        where = f"{length(metres)} from the nearest vertex" if len(points) else "a place, but no vertex has coordinates"
        raise BadSource(f"{text} is {where}; the limit is {snap.limit:,.10g} m (snap_limit of the run); {ORDER}")
    return int(rows["vertex"][int(numbers[0])].as_py())


def _attached(run: Folder, facts: RunFacts, text: str, place: tuple[float, float]) -> int:
    """The vertex at the foot of a place that the run has attached to a street. Raises BadSource if this is none of these."""
    for one in facts.places or ():
        if (*one.place,) == place:
            return one.vertex
    if PLACES in facts.tables:
        try:
            rows = tables.read(run.path / PLACES, columns=["lon", "lat", "vertex"])
        except (OSError, pa.ArrowException) as error:
            raise Damaged(f"{run.path / PLACES}: {error}") from None
        same = rows.filter(pc.and_(pc.equal(rows["lon"], place[0]), pc.equal(rows["lat"], place[1])))
        if len(same):
            return int(same["vertex"][0].as_py())
    how = "is none of the places that this run has attached to streets"
    raise BadSource(
        f"{text} {how}; name it in the run's sources and run again, or write the id of a vertex or a place of the run"
    )
