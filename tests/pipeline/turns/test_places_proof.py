"""The proofs refuse other turns at places, and at the crossings of streets that places divide."""

import random
import shutil
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.errors import ProofFailed
from pipeline.steps.attaching import STEP
from pipeline.steps.attaching.proof import prove
from pipeline.steps.turns.arcs import StreetArcs
from pipeline.steps.turns.proof import SplitClaim
from pipeline.store.facts import EdgeFacts
from pipeline.store.manifest import Folder, unsealed
from pipeline.tables.streets import PIECES, RESTRICTIONS, SIGNALS
from tests.pipeline.turns.mutants import SNAP, SplitMutants, with_places
from tests.pipeline.turns.test_places import COSTS


@pytest.fixture(scope="module")
def attached(tmp_path_factory):
    """An edge list, the same with places on its streets, and the places."""
    return with_places(tmp_path_factory.mktemp("p"), 1, COSTS)


def test_other_files_of_turns_are_refused(attached, tmp_path):
    edges, made, places = attached
    facts = EdgeFacts.of(made)

    def proved(name, table):
        shutil.rmtree(tmp_path / "changed", ignore_errors=True)
        shutil.copytree(made.path, tmp_path / "changed")
        (tmp_path / "changed" / name).unlink()
        if table is not None:
            pq.write_table(table, tmp_path / "changed" / name)
        manifest = replace(unsealed(STEP, facts.stored()), files=made.manifest.files)
        return prove(edges, Folder(tmp_path / "changed", manifest), places, SNAP)

    chosen = random.Random(3)
    for name in (RESTRICTIONS, SIGNALS, PIECES):
        table = pq.read_table(made.path / name)
        assert len(proved(name, table).rules) == 5 and len(table) > 8
        wrong = [None] if name != PIECES else []
        for row in chosen.sample(range(len(table)), 8):
            wrong.append(pa.concat_tables([table.slice(0, row), table.slice(row + 1)]))
            for column in table.column_names:
                values = table[column].to_pylist()
                values[row] = _other(values[row])
                place, field = table.column_names.index(column), table.schema.field(column)
                wrong.append(table.set_column(place, field, pa.array(values, field.type)))
        for other in wrong:
            with pytest.raises(ProofFailed):
                proved(name, other)


def _other(value):
    if isinstance(value, bool):
        return not value
    return [*value, 1] if isinstance(value, list) else 5 if value is None else value + 1


def test_no_path_turns_round_at_a_place(attached):
    _, edges, _ = attached
    arcs, pieces = StreetArcs.of(edges), SplitMutants(edges, 1, COSTS).pieces

    def check(rows):
        SplitClaim(edges, rows, pieces.movements, pieces.copies).check()

    of, places = dict(zip(*(pieces.copies[name].to_pylist() for name in ("id", "vertex")), strict=True)), arcs.ids[arcs.within]
    src, dst, weight = (pieces.edges[name].to_pylist() for name in ("src", "dst", "weight"))
    numbers = pieces.movements["arc"].to_pylist()
    around, entered = 0, [row for row, end in enumerate(dst) if of.get(end) in places and numbers[row] >= 0]
    for row in entered:
        # Paths that arrive go on from the place itself, from which both directions are open.
        with pytest.raises(ProofFailed):
            check(pieces.edges.set_column(1, "dst", pa.array([*dst[:row], of[dst[row]], *dst[row + 1 :]])))
        for back in range(len(src)):
            reverse = numbers[back] >= 0 and src[back] == of[dst[row]] and arcs.street[numbers[back]] == arcs.street[numbers[row]]
            if reverse:  # and the copy has the arc that leads back
                around += 1
                rows = pa.concat_tables(
                    [pieces.edges, pa.table({"src": [dst[row]], "dst": [dst[back]], "weight": [weight[back]]})]
                )
                moves = pa.concat_tables([pieces.movements, pa.table({"arc": [numbers[back]]}, schema=pieces.movements.schema)])
                with pytest.raises(ProofFailed, match="forbidden"):
                    SplitClaim(edges, rows, moves, pieces.copies).check()
    assert around == len(entered) > 12
