"""Random paths of `graphmill path` over roads whose turns matter, none of which may take a forbidden turn.

As a command: `python -m tests.pipeline.turns.paths 100000 [EXTRACT ...] --processes 16` draws paths over generated towns and, as
many, over each extract; it prints every fault, and counts paths, their arcs, and turns at which a restriction of cars begins.
"""

import random
import sys
import tempfile
from collections import Counter
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from pipeline.config.loading import run_config
from pipeline.errors import NoPath
from pipeline.inspection.turned_path import TurnedPaths
from pipeline.run import run
from pipeline.store.facts import EdgeFacts
from pipeline.store.manifest import read as read_manifest
from pipeline.tables import files as tables
from pipeline.tables.streets import STREETS
from tests.faults.children import options, parts_of, tally
from tests.ingest.osm.extracts import write
from tests.pipeline.turns.router import Router, town

PART, SOURCES, SIZE, TURNS = 5000, 25, 12, 150


def streets_of(folder):
    """Rows `(src, dst, weight, way)` of the arcs of an edge list."""
    rows = []
    for row in pq.read_table(folder / STREETS).to_pylist():
        for ends, weight in ((("src", "dst"), row["forward"]), (("dst", "src"), row["backward"])):
            if weight is not None:
                rows.append((row[ends[0]], row[ends[1]], weight, row["way"]))
    return rows


class DrawnPaths:
    """A run from random sources of an extract, whose paths are compared with a second reader's restrictions.

    Attributes:
        counts: Paths, arcs and turns where a restriction begins.
        faults: What is wrong with a path.
    """

    def __init__(self, extract, folder, seed, sources=SOURCES):
        self._chosen, self.counts, self.faults = random.Random(seed), Counter(), []
        whole = run_config("paths", graph={"source": str(extract), "osm": {"profile": "car"}}, output=folder / "out",
                           stages=["wcc"], backend="cpu")  # fmt: skip
        vertices = tables.read(run(whole).path / "vertices", ["vertex"])["vertex"].to_pylist()
        sources = self._chosen.sample(vertices, min(sources, len(vertices)))
        path = run(whole.model_copy(update={"stages": ("wcc", "sssp"), "sources": sources})).path
        edges = read_manifest(folder / "out" / "steps" / "edges")
        self.router = Router(extract, streets_of(edges.path))
        facts = EdgeFacts.of(edges).roads.turns
        if len(self.router.rules) != facts.restrictions:
            self.faults.append(
                f"{extract.name}: {facts.restrictions} restrictions, the second reader has {len(self.router.rules)}"
            )
        self.paths = TurnedPaths(read_manifest(path), "sssp")
        rows = tables.read(path / "sssp").to_pandas()
        self.rows = {source: of[["vertex", "distance"]].to_numpy(float) for source, of in rows.groupby("source")}

    def draw(self, count):
        """Follow random paths, those of a source together."""
        sources = sorted(self.rows)
        for source, many in zip(sources, np.bincount(np.arange(count) % len(sources), minlength=len(sources)), strict=True):
            for vertex, distance in self._chosen.choices(self.rows[source], k=int(many)):
                self._follow(source, int(vertex), distance)

    def _follow(self, source, end, distance):
        try:
            way = self.paths.between(source, end)
        except NoPath:
            self.counts["without a path"] += 1
            if distance == distance:
                self.faults.append(f"from {source} to {end}: no path, but a distance")
            return
        self.counts["paths"] += 1
        if way[-1] != (end, distance):
            self.faults.append(f"from {source} to {end}: the path ends with {way[-1]}, not with the distance {distance}")
        arcs = taken(self.router, way)
        self.counts["arcs"] += len(way) - 1
        if arcs is None:
            self.faults.append(f"from {source} to {end}: a turn of {way} is forbidden")
        else:
            self.counts["restricted turns passed"] += sum(arc in self.router.restricted for arc in arcs[:-1])


def taken(router, way):
    """Arcs with these distances that are permitted one after the other along a way; None if there are none."""
    paths = [[]]
    for (node, begin), (other, end) in pairwise(way):
        arcs = [arc for arc in router.of.get(node, ()) if router.arcs[arc][1:3] == (other, end - begin)]
        paths = [[*path, arc] for path in paths for arc in arcs if router.permits([*path, arc])]
    return paths[0] if paths else None


def of_part(extract, part):
    """The counts and faults of so many paths over an extract; without one over a town of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if extract is None:
            nodes, ways, turns = town(part.start, SIZE, TURNS)
            extract = write(folder / "town.osm.pbf", nodes, ways, turns=turns)
        drawn = DrawnPaths(extract, folder, part.start)
        drawn.draw(len(part))
    return drawn.counts, drawn.faults


def main(count, extracts, processes):
    """Print faults when they are found, and counts of the towns and of each extract; return the number of faults."""
    faulty = 0
    for extract in (None, *extracts):
        total, wrong = tally(partial(of_part, extract), parts_of(count, PART), processes)
        faulty += wrong
        print(f"{extract.name if extract else 'towns'}: {dict(sorted(total.items()))}", flush=True)
    print(f"{faulty} faults")
    return faulty


if __name__ == "__main__":
    parser = options("tests.pipeline.turns.paths", "paths over towns, and over each extract")
    parser.add_argument("extracts", nargs="*", type=Path, metavar="EXTRACT")
    sys.exit(bool(main(**vars(parser.parse_args()))))
