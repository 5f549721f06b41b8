"""The proof that places are on streets: by code that shares nothing with that which attaches them.

parts.py    the streets of the source, put together again from their parts
feet.py     each vertex at a foot is on its line, at its offset
grid.py     no street is nearer, for every place
turns.py    the same turns as before
"""

import time

from kernels.graph import Array
from pipeline.config.model import Snap
from pipeline.steps.attaching.proof.feet import require_feet
from pipeline.steps.attaching.proof.grid import require_no_nearer
from pipeline.steps.attaching.proof.parts import require_arcs, require_parts
from pipeline.steps.attaching.proof.reading import Attached, Original
from pipeline.steps.attaching.proof.turns import require_turns
from pipeline.store.facts import CheckFacts
from pipeline.store.manifest import Folder

RULES = [
    "the parts of each street follow each other from its start to its end, on its line; their lengths, and their weights in each "
    "direction in which it is open, sum to its own, in proportion to a unit",
    "the arcs are those of the parts and of streets without places, and no others",
    "each vertex at a foot is on its street at its offset, to a centimetre, where the way to the place meets the street at a "
    "right angle or the street has a corner, and as far from the place as stated",
    "each place is within the limit, and no permitted street is nearer to any place, by a grid",
]
OF_TURNS = (
    "the turn restrictions are the same, each signal is where it was, and pieces lead from crossings where their street does"
)


def prove(edges: Folder, attached: Folder, places: Array, snap: Snap) -> CheckFacts:
    """Check an edge list with places, degrees float64 [n, 2], on its streets, read back, against that of the source.

    Raises ProofFailed.
    """
    started = time.perf_counter()
    before = Original(edges)
    after = Attached(attached, before)
    require_parts(before, after)
    require_arcs(before, after)
    require_feet(before, after, places)
    require_no_nearer(before, after, snap)
    rules = RULES
    if before.facts.has_turns:
        require_turns(before, after)
        rules = [*RULES, OF_TURNS]
    return CheckFacts(rules=rules, seconds=round(time.perf_counter() - started, 6))
