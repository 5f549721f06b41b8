"""The proof of a split graph rejects every other one: rows that are lost, added, moved, renamed or weighed in another way."""

import random

import numpy as np
import pyarrow as pa
import pytest

from pipeline.errors import ProofFailed
from pipeline.steps.turns.arcs import StreetArcs, read_restrictions
from pipeline.steps.turns.prefixes import forbidden_sequences
from pipeline.steps.turns.proof import SplitClaim
from pipeline.steps.turns.splitting import split
from tests.counts import NIGHTLY
from tests.ingest.osm.extracts import read, write
from tests.pipeline.turns.router import town

MUTANTS = 100_000 if NIGHTLY else 600
COSTS = {"left": 7, "right": 2, "u_turn": 20}


def claims(folder, seed, costs):
    """An edge list and the tables of its split graph."""
    nodes, ways, turns = town(seed)
    edges = read(write(folder / "a.osm.pbf", nodes, ways, turns=turns), folder, turns=costs)
    arcs, milli = StreetArcs.of(edges), {name: cost * 1000 for name, cost in costs.items()}
    pieces = split(arcs, forbidden_sequences(arcs, read_restrictions(edges)), np.zeros(len(arcs.head), np.int64), milli)
    return edges, pieces


def mutated(chosen, pieces):
    """The tables of another split graph, or of the same one if a mutation changed nothing."""
    rows, movements, copies = ({name: table[name].to_numpy().copy() for name in table.column_names} for table in (
        pieces.edges, pieces.movements, pieces.copies))  # fmt: skip
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
    return tables, any(not table.equals(of.cast(table.schema)) for table, of in zip(tables, (
        pieces.edges, pieces.movements, pieces.copies), strict=True))  # fmt: skip


def require_mutants_refused(edges, pieces, count):
    """Fail unless the proof accepts a split graph, and none of its mutants that are another one."""
    chosen, alike = random.Random(1), _alike(pieces)
    SplitClaim(edges, pieces.edges, pieces.movements, pieces.copies).check()
    for number in range(count):
        tables, changed = mutated(chosen, pieces)
        if not changed or _alike_tables(tables) == alike:
            continue
        with pytest.raises(ProofFailed):
            SplitClaim(edges, *tables).check()
            pytest.fail(f"mutant {number} was accepted")


@pytest.mark.parametrize("costs", [{}, COSTS], ids=["restrictions", "costs"])
def test_every_other_split_graph_is_rejected(tmp_path, costs):
    require_mutants_refused(*claims(tmp_path, 3, costs), MUTANTS)


def _alike(pieces):
    return _alike_tables([pieces.edges, pieces.movements, pieces.copies])


def _alike_tables(tables):
    """The rows of a split graph in any order."""
    edges, movements, copies = tables
    rows = zip(*(edges[name].to_pylist() for name in ("src", "dst", "weight")), movements["arc"].to_pylist(), strict=True)
    return sorted(rows), sorted(zip(*(copies[name].to_pylist() for name in ("id", "vertex", "end")), strict=True))
