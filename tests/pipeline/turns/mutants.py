"""Wrong arcs of streets and wrong split graphs, which their proofs refuse.

As a command: `python -m tests.pipeline.turns.mutants 100000 --processes 16` draws so many of each kind, prints those that a proof
accepts, and counts them.
"""

import random
import sys
import tempfile
from collections import Counter
from functools import partial
from itertools import count
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.config.model import Snap
from pipeline.errors import ProofFailed
from pipeline.ingest.formats.osm import reading
from pipeline.ingest.roads import certificate
from pipeline.steps.attaching.points import GivenPoints
from pipeline.steps.attaching.step import attach_places
from pipeline.steps.runtime import Runtime
from pipeline.steps.turns import proof
from pipeline.steps.turns.arcs import StreetArcs, read_restrictions, read_signals
from pipeline.steps.turns.costs import costs_of_signals
from pipeline.steps.turns.prefixes import forbidden_sequences
from pipeline.steps.turns.splitting import split
from pipeline.tables.streets import STREETS
from tests.faults.children import options, parts_of, tally
from tests.ingest.osm.extracts import read, write
from tests.ingest.osm.test_streets import random_extract
from tests.pipeline.turns.placed_router import bent_town
from tests.pipeline.turns.router import town

PART, LEAST = 2000, 8  # mutants of a graph, and arcs of an extract
HALF_AROUND = 10**10  # millimetres
SNAP = Snap(3000)
ARCS = "part-00000.parquet"
COSTS = {"left": 7, "right": 2, "u_turn": 20}
KINDS = ("arcs by length", "arcs by time", "restrictions", "costs", "places")


class ArcMutants:
    """The edge list of a random extract, and others than it."""

    def __init__(self, folder, seed, weight):
        proofs, (self._folder, self._chosen) = [], (folder / "mutant", random.Random(seed))
        self._folder.mkdir(exist_ok=True)

        def record(due, path, weighted):
            proofs.append((due, weighted, {name: pq.read_table(path / name) for name in (STREETS, ARCS)}))
            return certificate.prove(due, path, weighted)

        with patch.object(reading, "prove", record):
            read(write(folder / "a.osm.pbf", *random_extract(seed)), folder / "work", weight=weight)
        ((self._due, self._weighted, self.tables),) = proofs

    def check(self, tables):
        """Raise ProofFailed unless tables are the edge list."""
        for name, table in tables.items():
            pq.write_table(table, self._folder / name)
        certificate.prove(self._due, self._folder, self._weighted)

    def mutant(self):
        """Other tables; None if the mutation has changed nothing."""
        name = self._chosen.choice([*self.tables])
        rows = self.tables[name].to_pylist()
        if not rows:
            return None
        kind, row, other = self._chosen.randrange(6), *(self._chosen.randrange(len(rows)) for _ in range(2))
        if kind == 0:
            del rows[row]
        elif kind == 1:
            rows.insert(other, rows[row])
        elif kind == 2:
            rows[row], rows[other] = rows[other], rows[row]
        else:
            column = self._chosen.choice(self.tables[name].column_names)
            rows[row] = rows[row] | {column: self._other(rows[row][column], column, rows[row], rows[other][column])}
        table = pa.Table.from_pylist(rows, self.tables[name].schema)
        return None if table.equals(self.tables[name]) else self.tables | {name: table}

    def has_same_paths(self, tables):
        """Whether other tables may be taken for the edge list: never."""
        return False

    def _other(self, value, column, row, another):
        """Another value of a column, or perhaps that of another row."""
        step = self._chosen.choice([-1, 1]) * self._chosen.choice([1, 1, 10, 1000])
        if column == "points":
            at = self._chosen.randrange(len(value))
            moved = [*value[:at], max(-1_800_000_000, min(1_800_000_000, value[at] + step)), *value[at + 1 :]]
            pairs = [value[place : place + 2] for place in range(0, len(value), 2)]
            return self._chosen.choice([moved, value[2:], [axis for pair in pairs[::-1] for axis in pair], another])
        if column == "length":  # which is proved to half a millimetre of each segment, a metre if it leads around half the earth
            return max(0, value + step * len(row["points"]) * (1 if value < HALF_AROUND else 1000))
        if value is None or isinstance(value, str):
            return self._chosen.choice([another, "x" if column in ("name", "class") else abs(step)])
        return self._chosen.choice([another, max(0, value + step), *([None] if column in ("forward", "backward") else ())])


class SplitMutants:
    """The split graph of an edge list, and others than it."""

    def __init__(self, edges, seed, costs):
        arcs, milli = StreetArcs.of(edges), {name: cost * 1000 for name, cost in costs.items()}
        table = read_signals(edges)
        signals = np.zeros(len(arcs.head), np.int64) if table is None else costs_of_signals(arcs, table, milli.get("signals", 0))
        self.pieces = split(arcs, forbidden_sequences(arcs, read_restrictions(edges)), signals, milli)
        self.tables = self.pieces.edges, self.pieces.movements, self.pieces.copies
        self._edges, self._chosen, self._sorted = edges, random.Random(seed), _sorted(self.tables)
        self._streets = proof.StreetRows(edges)

    def check(self, tables):
        """Raise ProofFailed unless tables are the split graph, perhaps in another order; the streets are read once."""
        with patch.object(proof, "StreetRows", lambda _: self._streets):
            claim = proof.SplitClaim(self._edges, *tables)
        claim.check()

    def mutant(self):
        """Other tables; None if the mutation has changed nothing."""
        rows, movements, copies = ({name: table[name].to_numpy().copy() for name in table.column_names} for table in self.tables)
        chosen = self._chosen
        kind, row, other = chosen.randrange(8), *(chosen.randrange(len(rows["src"])) for _ in range(2))
        copy = chosen.randrange(len(copies["id"]))
        if kind < 2:
            for table in (rows, movements):
                for name, column in table.items():
                    table[name] = np.delete(column, row) if kind else np.append(column, column[row])
        elif kind in (2, 3):
            name = ("src", "dst")[kind - 2]
            rows[name][row] = rows[name][other]
        elif kind == 4:
            rows["weight"][row] += chosen.choice([1, 2000, 7000, -1])
        elif kind == 5:
            movements["arc"][row] = movements["arc"][other]
        elif kind == 6:
            copies["vertex"][copy] = chosen.choice(copies["vertex"].tolist())
        else:
            copies["end"][copy] = not copies["end"][copy]
        tables = [pa.table(table) for table in (rows, movements, copies)]
        return None if _sorted(tables) == self._sorted else tables

    def has_same_paths(self, tables):
        """Whether other tables have the same paths: copies with the same arcs may take each other's place."""
        rows = {key: leaving for number, of in enumerate((self.tables, tables)) for key, leaving in _leaving(number, of).items()}
        classes, before = {key: key[2:] for key in rows}, 0
        while len(set(classes.values())) > before:
            before = len(set(classes.values()))
            signs = {key: (classes[key], tuple(sorted((arc, weight, classes[dst]) for arc, weight, dst in leaving)))
                     for key, leaving in rows.items()}  # fmt: skip
            numbers = {sign: number for number, sign in enumerate(set(signs.values()))}
            classes = {key: numbers[sign] for key, sign in signs.items()}
        starts = set(self._streets.src.tolist())
        return all(classes.get((0, start, start, False)) == classes.get((1, start, start, False)) for start in starts)


def _leaving(number, tables):
    """What leaves each vertex of a split graph: arcs, weights and vertices `(number, id, crossing, whether it is an end)`."""
    edges, movements, copies = (table.to_pylist() for table in tables)
    of = {row["id"]: (number, row["id"], row["vertex"], row["end"]) for row in copies}
    rows = {}
    for row, movement in zip(edges, movements, strict=True):
        src, dst = (of.get(row[end], (number, row[end], row[end], False)) for end in ("src", "dst"))
        rows.setdefault(dst, [])
        rows.setdefault(src, []).append((movement["arc"], row["weight"], dst))
    return rows


def _sorted(tables):
    """The rows of a split graph in one order."""
    edges, movements, copies = tables
    rows = zip(*(edges[name].to_pylist() for name in ("src", "dst", "weight")), movements["arc"].to_pylist(), strict=True)
    return sorted(rows), sorted(zip(*(copies[name].to_pylist() for name in ("id", "vertex", "end")), strict=True))


def points_near(nodes, ways, seed, count=9):
    """Places beside streets: two of them on one street, others on the closed one, on the dead end, and at a crossing."""
    chosen, at = random.Random(seed), {node.id: (node.lon, node.lat) for node in nodes}
    first = chosen.choice(ways[:-2])
    places = [at[1]]
    for way in [first, first, *ways[-2:], *chosen.choices(ways, k=count - 5)]:
        step = chosen.randrange(len(way.nodes) - 1)
        share = chosen.uniform(0.1, 0.9)
        pair = zip(at[way.nodes[step]], at[way.nodes[step + 1]], strict=True)
        places.append(tuple((1 - share) * a + share * b + chosen.uniform(-1, 1) / 1e6 for a, b in pair))
    return places


def with_places(folder, seed, costs):
    """An edge list of a town, the same with places on its streets, and the places."""
    nodes, ways, turns = bent_town(seed)
    edges = read(write(folder / "a.osm.pbf", nodes, ways, turns=turns), folder, turns=costs)
    points = GivenPoints([(np.array(points_near(nodes, ways, seed, 14)), str)])
    return edges, attach_places(edges, points, Runtime(folder, snap=SNAP)), points.places


def mutants_of(kind, folder, seed):
    """What a proof of a kind accepts, and mutants of it."""
    if kind.startswith("arcs"):
        weight = "time" if kind.endswith("time") else "distance"
        drawn = (ArcMutants(folder, number, weight) for number in count(10 * seed))
        return next(one for one in drawn if len(one.tables[ARCS]) >= LEAST)
    if kind == "places":
        costs = COSTS | {"signals": 3}
        return SplitMutants(with_places(folder, seed, costs)[1], seed, costs)
    nodes, ways, turns = town(seed)
    costs = COSTS if kind == "costs" else {}
    return SplitMutants(read(write(folder / "a.osm.pbf", nodes, ways, turns=turns), folder, turns=costs), seed, costs)


def accepted(mutants, number):
    """How many mutants were tried, and the numbers of those that were accepted although they are wrong."""
    mutants.check(mutants.tables)
    tried, wrong = 0, []
    while tried < number:
        tables = mutants.mutant()
        if tables is None:
            continue
        tried += 1
        try:
            mutants.check(tables)
            if not mutants.has_same_paths(tables):
                wrong.append(tried)
        except ProofFailed:
            continue
    return tried, wrong


def of_part(kind, part):
    """The number and faults of so many mutants of one graph."""
    with tempfile.TemporaryDirectory() as folder:
        tried, wrong = accepted(mutants_of(kind, Path(folder), part.start), len(part))
    return Counter(mutants=tried), [f"{kind}, graph {part.start}, mutant {number}: accepted" for number in wrong]


def main(count, kinds, processes):
    """Print faults when they are found, and the count of each kind; return the number of faults."""
    faulty = 0
    for kind in kinds or KINDS:
        total, wrong = tally(partial(of_part, kind), parts_of(count, PART), processes)
        faulty += wrong
        print(f"{kind}: {total['mutants']} mutants", flush=True)
    print(f"{faulty} accepted")
    return faulty


if __name__ == "__main__":
    parser = options("tests.pipeline.turns.mutants", "mutants of each kind")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"default: {', '.join(KINDS)}")
    sys.exit(bool(main(**vars(parser.parse_args()))))
