"""The commands on products: a product of a graph, or of a run's graph, in any folder."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipeline.cluster.start import started
from pipeline.config.loading import checked, load_run, run_config
from pipeline.config.products import ProductOptions
from pipeline.config.run import workplace
from pipeline.errors import BadConfig
from pipeline.ingest import ingest
from pipeline.ingest.again import steadily
from pipeline.ingest.source import locate
from pipeline.registry.products import PRODUCTS
from pipeline.runtime.backend import choose
from pipeline.steps.destination import flushed, prepare
from pipeline.steps.layout import lay_out, suited
from pipeline.steps.places.given import PlacesOfCommand
from pipeline.steps.places.table import place_table
from pipeline.steps.products.vertices import read_vertices
from pipeline.steps.publication.places import places_in
from pipeline.steps.runtime import Runtime
from pipeline.store.deltas import EDGES, GRAPHS
from pipeline.store.edges import HeldEdges
from pipeline.store.manifest import Folder, find
from pipeline.store.workspace import find_run, shared_workspace


def product_into(name: str, target: str, out: Path, **given: Any) -> Folder:
    """Write the product of a command into a folder, as its options ask; see the step of its table.

    Raises:
        BadConfig: An option has a wrong value; the run's stored graph is no longer there; the folder holds what this command did
            not write, or is inside a folder of a run or step.
    """
    product = PRODUCTS[name]
    options: ProductOptions = checked(product.resolve("options"), "options", output=out, **given)
    files = options.vertex_files

    def tabulate() -> Folder:
        with _opened(target, options, name) as (edges, graph, runtime):
            named = {key: read_vertices(file, edges, graph, runtime) for key, file in files.items()}
            places = PlacesOfCommand(places_in(files, edges, graph, runtime), place_table(files, edges, graph, runtime))
            vertices = [named.get(key) for key in options.VERTICES]
            return flushed(product.tables[0].resolve("step")(graph, vertices, options, runtime, places))

    return steadily([target, *files.values()], tabulate)


@contextmanager
def _opened(target: str, options: ProductOptions, step: str) -> Iterator[tuple[Folder, Folder, Runtime]]:
    """The edge list and the stored graph of a run's folder, of the TOML file of a run or a graph, or of a graph file."""
    prepare(options.output, step)
    for file in options.vertex_files.values():  # before the graph is read
        locate(file).require_local()
    backend = choose(options.backend)
    folder = workplace(str(Path(target).absolute()))
    _require_writable(folder.parent)
    with started(options.cluster, backend) as cluster:
        if Path(target).is_dir():
            edges, graph = _of_run(Path(target))
            with shared_workspace(folder) as work:
                yield edges, graph, Runtime(work, backend, cluster, snap=options.snap, places=options.places)
            return
        if target.endswith(".toml"):
            config = load_run(Path(target), default_output=folder)
        else:
            config = run_config("options", graph={"source": target}, output=folder)
        with shared_workspace(folder) as work:
            held = HeldEdges(backend, keeps=not cluster.shards)
            runtime = Runtime(work, backend, cluster, held, snap=options.snap, places=options.places)
            edges = ingest(config.graph, work, runtime.held_edges, options.cluster.elsewhere)
            yield edges, lay_out(edges, suited(config.layout, edges, cluster.shards), runtime), runtime


def _require_writable(home: Path) -> None:
    try:
        home.mkdir(parents=True, exist_ok=True)
        writable = os.access(home, os.W_OK | os.X_OK)
    except OSError:
        writable = False
    if not writable:
        kept = "this command keeps there what it derives from graphs"
        raise BadConfig(f"{home}: is not writable, and {kept}; name another folder in the environment variable XDG_CACHE_HOME")


def _of_run(path: Path) -> tuple[Folder, Folder]:
    """The edge list and the stored graph of the run that a path names. Raises BadConfig if they are no longer there."""
    run = find_run(path)
    steps = run.path.parents[1] / "steps"
    edges = find((steps / name for name in EDGES), run.manifest.inputs["edges"])
    graph = find((steps / name for name in GRAPHS), run.manifest.inputs["graph"])
    if edges is None or graph is None:
        lost = steps / ("edges" if edges is None else "graph")
        raise BadConfig(
            f"{lost}: is not there, or a later run has replaced it; name the graph's file, or run the configuration again"
        )
    return edges, graph
