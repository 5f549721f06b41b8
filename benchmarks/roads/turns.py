"""Measure hierarchies with turns beside those without: `python -m benchmarks.roads.turns --help`.

Prints a row of a Markdown table for each graph: of the streets, of the split graph with restrictions, and with costs of turns,
too. Of an extract all turn restrictions hold; of a generated town, drawn ones at 3 % of the pairs of streets that meet. Times are
those of all cores and of the system together, after everything is compiled, and the least of several. Trees have distances to
crossings, of which a split one has those of its end.
"""

import argparse
import resource
import tempfile
from collections.abc import Callable, Iterator, Sequence
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.generators import grid_edges
from benchmarks.graphs import graph_of_arcs
from kernels.graph import Array, Graph
from kernels.hierarchy import build_hierarchy, customise
from kernels.trees import sweep
from pipeline.config.graph import GraphConfig
from pipeline.config.roads import OsmConfig
from pipeline.ingest import ingest
from pipeline.steps.turns.arcs import StreetArcs, read_restrictions
from pipeline.steps.turns.prefixes import Arcs, forbidden_sequences
from pipeline.steps.turns.splitting import split
from pipeline.tables.streets import PIECE_SCHEMA

COSTS = {"left": 10_000, "right": 5_000, "u_turn": 20_000}  # milliseconds
SEED, DROPPED, ONE_WAY, RESTRICTED, TREES, TIMES = 38, 0.25, 0.1, 0.03, 1024, 5
HEADER = (
    "roads",
    "turns",
    "vertices",
    "arcs",
    "arcs of the hierarchy",
    "levels",
    "built, s",
    "same order, s",
    "tree, proved, ms",
)


def town(side: int) -> tuple[StreetArcs, set[Arcs]]:
    """Streets of a grid town, a quarter of them removed and a tenth one-way, every eighth fast; and restrictions."""
    random = np.random.default_rng(SEED)
    src, dst = np.array(grid_edges(side))[:, random.random(2 * side * (side - 1)) >= DROPPED]
    place = np.stack([np.arange(side**2) % side * 1300, np.arange(side**2) // side * 900], axis=1)
    place += random.integers(-350, 350, place.shape)
    metres = np.hypot(*((place[src] - place[dst]) * (0.075, 0.111)).T)
    fast = (src // side % 8 + dst // side % 8 == 0) | (src % side % 8 + dst % side % 8 == 0)
    weight = np.maximum(1, 3600 * metres / np.where(fast, 80, random.choice([30, 50], len(src)))).astype(np.int64)
    closed, backwards = random.random((2, len(src)))
    points = pa.array(np.stack([place[src], place[dst]], axis=1).astype(np.int32).ravel())
    columns = {
        "src": src, "dst": dst, "way": np.arange(len(src)),
        "forward": pa.array(weight, mask=(closed < ONE_WAY) & (backwards < 0.5)),
        "backward": pa.array(weight, mask=(closed < ONE_WAY) & (backwards >= 0.5)),
        "points": pa.ListArray.from_arrays(pa.array(np.arange(0, 4 * len(src) + 1, 4), pa.int32()), points),
    }  # fmt: skip
    arcs = StreetArcs.of_table(pa.table(columns), True, PIECE_SCHEMA.empty_table())
    place, second = arcs.after(np.arange(len(arcs.head)))
    kept = np.flatnonzero((random.random(len(place)) < RESTRICTED) & (arcs.street[place] != arcs.street[second]))
    return arcs, set(zip(place[kept].tolist(), second[kept].tolist(), strict=True))


def extract(path: Path) -> tuple[StreetArcs, set[Arcs]]:
    """Streets of an extract for cars, in milliseconds, and its restrictions."""
    with tempfile.TemporaryDirectory() as folder:
        edges = ingest(GraphConfig(source=str(path), osm=OsmConfig(profile="car", weight="time")), Path(folder))
        arcs = StreetArcs.of(edges)
        return arcs, forbidden_sequences(arcs, read_restrictions(edges))


def graphs(arcs: StreetArcs, restrictions: set[Arcs]) -> Iterator[tuple[str, Graph, Array]]:
    """The graph of streets, and split ones, with the rows where paths to crossings end."""
    yield "none", graph_of_arcs(arcs.tail, arcs.head, arcs.weight, len(arcs.ids), symmetric=False), np.arange(len(arcs.ids))
    for name, costs in (("restrictions", {}), ("restrictions and costs", COSTS)):
        pieces = split(arcs, restrictions, np.zeros(len(arcs.head), np.int64), costs)
        rows, added = pieces.edges, pieces.copies.filter(pieces.copies["end"])
        ids, ends = np.unique(np.stack([rows["src"].to_numpy(), rows["dst"].to_numpy()]), return_inverse=True)
        ends = ends.reshape(2, -1)
        to = arcs.ids.copy()
        to[np.searchsorted(arcs.ids, added["vertex"].to_numpy())] = added["id"].to_numpy()
        graph = graph_of_arcs(ends[0], ends[1], rows["weight"].to_numpy(), len(ids), symmetric=False)
        yield name, graph, np.searchsorted(ids, to)


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and the seconds of all cores together that it takes at least."""
    least = inf
    for _ in range(TIMES):
        before = resource.getrusage(resource.RUSAGE_SELF)
        made = call()
        after = resource.getrusage(resource.RUSAGE_SELF)
        least = min(least, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return made, least


def measure(graph: Graph, to: Array) -> list[str]:
    """The columns of a graph behind the first two; the first rows are crossings, from which trees begin, to rows `to`."""
    hierarchy, built = timed(lambda: build_hierarchy(graph))
    _, again = timed(lambda: customise(hierarchy, graph))
    sources = np.random.default_rng(SEED).integers(0, len(to), TREES)
    _, swept = timed(lambda: [len(batch.sources) for batch in sweep(graph, hierarchy, sources, to=to)])
    arcs = len(hierarchy.up.others) + len(hierarchy.down.others)
    counts = (graph.num_vertices, len(graph.out.indices), arcs, hierarchy.num_levels)
    return [*(f"{count:,}" for count in counts), f"{built:.2f}", f"{again:.2f}", f"{1000 * swept / TREES:.3f}"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the options ask for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.roads.turns", description=__doc__)
    parser.add_argument("extracts", nargs="*", type=Path, metavar="EXTRACT", help="files of OpenStreetMap")
    parser.add_argument("--side", type=int, default=150, help="of the town, in crossings (default: %(default)s)")
    options = parser.parse_args(arguments)
    for _, graph, to in graphs(*town(20)):  # compiles
        measure(graph, to)
    print(f"| {' | '.join(HEADER)} |\n|---|---|{'---:|' * (len(HEADER) - 2)}")
    for name, roads in [*((path.stem.split(".")[0], extract(path)) for path in options.extracts), ("town", town(options.side))]:
        for turns, graph, to in graphs(*roads):
            print(f"| {name} | {turns} | {' | '.join(measure(graph, to))} |", flush=True)


if __name__ == "__main__":
    main()
