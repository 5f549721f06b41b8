"""The commands on products: a product of a graph, or of a run's graph, in any folder."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pipeline.config.loading import checked, load_run
from pipeline.config.products import ProductOptions
from pipeline.config.products.zones import is_zone_file, names_cells
from pipeline.ingest.again import steadily
from pipeline.ingest.source import locate
from pipeline.registry.products import PRODUCTS
from pipeline.steps.derived.names import is_named, require_strings
from pipeline.steps.destination import flushed, prepare
from pipeline.steps.places.given import PlacesOfCommand
from pipeline.steps.places.table import place_table
from pipeline.steps.products.vertices import read_vertices
from pipeline.steps.publication.places import places_in
from pipeline.steps.runtime import Runtime
from pipeline.steps.stored_graph import OF_COMMANDS, StoredGraph, folder_of, stored_graph
from pipeline.store.manifest import Folder
from pipeline.store.names import open_names
from pipeline.store.workspace import find_run


def product_into(name: str, target: str, out: Path, **given: Any) -> Folder:
    """Write the product of a command into a folder, as its options ask; see the step of its table.

    Raises:
        BadConfig: An option has a wrong value; the run's stored graph is no longer there; the folder holds what this command did
            not write, or is inside a folder of a run or step.
    """
    product = PRODUCTS[name]
    options: ProductOptions = checked(product.resolve("options"), "options", output=out, **(given | _places(target, out, given)))
    files = options.vertex_files
    *_, table = product.tables_for(options)
    zone = str(getattr(options, "zone", None))
    read = [file for file in (*files.values(), *([zone] if is_zone_file(zone) else [])) if not names_cells(file)]

    def tabulate() -> Folder:
        prepare(options.output, table.name if table.switch else name)
        for file in read:  # before the graph is read
            locate(file).require_local()
        with stored_graph(target, options, options.snap) as (stored, of_graph):
            runtime = replace(of_graph, places=options.places, zones=options.zones)
            edges, graph = _with_places(stored, files, runtime)
            named = {key: read_vertices(file, edges, graph, runtime) for key, file in files.items()}
            places = PlacesOfCommand(places_in(files, edges, graph, runtime), place_table(files, edges, graph, runtime))
            vertices = [named.get(key) for key in options.VERTICES]
            names = require_strings(open_names(edges)) if _adds_names(target, options) else None
            step, naming = table.resolve("step"), replace(runtime, names=names)
            if table.switch:
                return flushed(step(edges, graph, vertices, options, naming))
            return flushed(step(graph, vertices, options, naming, places))

    return steadily([target, *read], tabulate)


def _with_places(stored: StoredGraph, files: Mapping[str, str], runtime: Runtime) -> StoredGraph:
    """The graph with places on its streets, if the options ask for it."""
    if runtime.places.attach != "streets":
        return stored
    from pipeline.steps.attaching.requests import on_streets

    return on_streets(stored, files, runtime)


def _adds_names(target: str, options: ProductOptions) -> bool:
    """Whether the table has names: as the option says or, without one, as the run or the configuration has them."""
    if options.named is None and (folder := folder_of(target)):
        return is_named(None, find_run(folder).path)
    if options.named is None and target.endswith(".toml"):
        return load_run(Path(target), default_output=options.output, used=OF_COMMANDS).named
    return bool(options.named)


def _places(target: str, out: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """How files of places and of zones are read: as the run or the configuration has it, and as options that are given say."""
    values: Mapping[str, Any] = {}
    if folder := folder_of(target):
        values = find_run(folder).facts.get("configuration", {}).get("values", {})
    elif target.endswith(".toml"):
        values = load_run(Path(target), default_output=out, used=OF_COMMANDS).model_dump()
    snap = {key: given.get(key, values[key]) for key in ("snap_limit", "snap_to") if key in values}
    columns = {name: values.get(name, {}) | given.get(name, {}) for name in ("places", "zones")}
    return snap | {name: {key: value for key, value in table.items() if value} for name, table in columns.items()}
