"""Places in the report: the list of those that are farthest from their vertices, and names for markers on maps."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.registry.products import PRODUCTS
from pipeline.store.facts.run import PlaceFacts
from pipeline.store.manifest import Folder
from pipeline.store.names import VertexNames
from pipeline.tables import files as tables

_LONGEST = 80  # characters of the names on a marker


def farthest_places(
    listed: Sequence[PlaceFacts], placed: Folder | None, names: VertexNames | None, most: int
) -> list[PlaceFacts]:
    """The places that are farthest from their vertices, at most so many: the manifest lists some, table `places` others."""
    places = [*listed]
    if placed:
        rows = tables.read(placed.path)
        first = rows.take(pc.select_k_unstable(rows, min(most, len(rows)), [("metres", "descending"), ("key", "ascending")]))
        places += [_facts(row, names) for row in first.to_pylist() if row["metres"] is not None]
    return sorted(places, key=lambda place: (-place.metres, place.key, place.id or ""))[:most]


def _facts(row: dict[str, Any], names: VertexNames | None) -> PlaceFacts:
    named = str(row["id"]) if row.get("name") is None else f"{row['id']} ({row['name']})"
    vertex = names.text(row["vertex"]) if names else None
    place = [row["lon"], row["lat"]]
    return PlaceFacts(key=row["key"], id=named, place=place, vertex=row["vertex"], name=vertex, metres=row["metres"])


def called(placed: Folder | None, table: str) -> dict[int, str]:
    """The names, or else the ids, of the places at the vertices of a product's table, by these vertices."""
    if placed is None:
        return {}
    rows = tables.read(placed.path)
    product = next(of.name for of in PRODUCTS.values() if table in {one.name for one in of.tables})
    own = rows.filter(pc.starts_with(rows["key"], f"{product}."))
    texts = own["id"].cast(pa.string())
    if "name" in own.schema.names:
        texts = pc.coalesce(own["name"], texts)
    names = dict[int, str]()
    for vertex, text in zip(own["vertex"].to_pylist(), texts.to_pylist(), strict=True):
        names[vertex] = f"{names[vertex]}, {text}"[:_LONGEST] if vertex in names else text[:_LONGEST]
    return names
