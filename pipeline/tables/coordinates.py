"""Table `coordinates`, which a run publishes if its source has coordinates."""

from pathlib import Path

from pipeline.store.manifest import Folder
from pipeline.tables import files as tables
from pipeline.tables.points import sorted_coordinates, with_geometry


def write_coordinates(edges: Folder, above: Path) -> Path | None:
    """Write `above/coordinates` from an edge list, and return it; None if it has no coordinates."""
    if (coordinates := sorted_coordinates(edges)) is None:
        return None
    folder = above / "coordinates"
    folder.mkdir()
    tables.write(folder, folder.name, None, with_geometry(coordinates).cast(tables.schema(folder.name, None)).to_batches())
    return folder
