"""The command `tiles`."""

from pathlib import Path

from pipeline.cli.arguments import Integer
from pipeline.cli.output import accomplish, print_rows
from pipeline.units import size


def tiles(run: Path, /, *, out: Path, tables: str | None = None, max_zoom: Integer | None = None) -> None:
    """Write the geometries of a published run as vector tiles: one PMTiles file, which MapLibre, QGIS and others show.

    ```
    graphmill tiles out/roads --out roads.pmtiles
    ```

    Each table with geometries is a layer, such as arcs or places, and its other columns are attributes. Below the last zoom lines
    are simplified, and what is smaller than a pixel is left out.

    Args:
        run: A run (`DIR/latest` or `DIR/runs/ID`), or an output folder, which stands for its latest run.
        out: The file, which is replaced if it has tiles.
        tables: Comma-separated names of the tables. Default: all with geometries but coordinates and vertices.
        max_zoom: The last zoom, at most 16. Default: 13, where a tile's unit is about a metre; viewers enlarge it for later ones.
    """
    from pipeline.errors import BadConfig
    from pipeline.runtime.memory_watch import followed
    from pipeline.store.workspace import find_run
    from pipeline.tiles import write_tiles

    if max_zoom is not None and not 0 <= max_zoom <= 16:
        raise BadConfig(f"--max-zoom: must be 0 to 16 (got {max_zoom})")
    names = [name.strip() for name in (tables or "").split(",") if name.strip()]
    with followed() as shown, shown.step("tiles"):
        made = write_tiles(find_run(run), out, names, max_zoom)
    accomplish("the tiles are written")
    print_rows(["layer", "features"], ([name, f"{count:,}"] for name, count in made.features.items()), right=(1,))
    print(f"{made.tiles:,} tiles of zooms {made.zooms[0]} to {made.zooms[-1]}, {size(made.bytes)}   {out}")
