"""Which directions of an edge are open: what a column says, as maps and routers write it, and the arcs that a row then is.

OpenStreetMap and OSMnx write `yes`, `no`, `-1`, `reversible`; pgRouting `FT`, `TF`, `B`; osm2pgrouting `YES`, `NO`, `REVERSED`
and `UNKNOWN`, or 1, 2, -1 and 0; HERE `F`, `T` (towards the reference node) and `B`. A value that is not among these, or that
two of them use for different things, is refused.
"""

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.graph import Array
from pipeline.config.graph import GraphConfig
from pipeline.texts import shown

log = logging.getLogger(__name__)
CLOSED, FORWARD, REVERSE, BOTH = range(4)  # bits: 1 is the arc from src to dst, 2 that from dst to src
_KNOWN = {"F": FORWARD, "T": REVERSE, "": BOTH}
_FOLDED = {
    FORWARD: ("yes", "true", "1", "ft", "forward"),
    REVERSE: ("-1", "reverse", "reversed", "tf", "backward"),
    BOTH: ("no", "false", "0", "2", "b", "both", "unknown"),
}
_CODES = {text: code for code, texts in _FOLDED.items() for text in texts}
_AMBIGUOUS = {
    "t": "may be true or against the direction (HERE)",
    "f": "may be false or in the direction (HERE)",
    "n": "may be no or closed in both directions (TomTom)",
    "y": "may be yes, but then N is no and not closed (TomTom)",
    "reversible": "changes its direction by time",
    "alternating": "changes its direction by time",
    "3": "is reversible in osm2pgrouting, which changes its direction by time",
}
_WHOLE = re.compile(r"(-?[0-9])\.0")  # as pandas writes integers if one of them is missing
_STATE = "; [graph.oneway] states what it means"


@dataclass(frozen=True)
class Meanings:
    """What the values of a column `oneway` mean; `stated` has the codes of those that the configuration states."""

    stated: Mapping[str, int]

    @staticmethod
    def of(graph: GraphConfig) -> "Meanings":
        """The meanings that a configuration states, before the usual ones."""
        lists = ((CLOSED, "closed"), (FORWARD, "forward"), (REVERSE, "reverse"), (BOTH, "both"))
        return Meanings({text: code for code, name in lists for text in getattr(graph.oneway, name)})

    def code(self, text: str) -> int | None:
        """CLOSED, FORWARD, REVERSE or BOTH; None for a text without a meaning.

        >>> Meanings({}).code("F"), Meanings({}).code("-1.0"), Meanings({}).code("f"), Meanings({"f": CLOSED}).code("f")
        (1, 2, None, 0)
        """
        if text in self.stated:
            return self.stated[text]
        whole = _WHOLE.fullmatch(text)
        folded = whole[1] if whole else text.lower()
        return _KNOWN.get(text, _CODES.get(folded))

    def why_unknown(self, value: bytes) -> str:
        """What is wrong with a text without a meaning."""
        folded = value.decode(errors="replace").lower()
        return f"oneway {shown(value)} {_AMBIGUOUS.get(folded, 'is not a known direction')}{_STATE}"

    def codes(self, texts: pa.ChunkedArray) -> pa.ChunkedArray:
        """The codes of trimmed texts, int8; a null is an empty text. Raises ArrowInvalid for a text without a meaning."""
        distinct = pc.unique(texts.combine_chunks())
        codes = [self.code(text or "") for text in distinct.to_pylist()]
        if None in codes:
            raise pa.ArrowInvalid("a direction is not known")
        places = pc.index_in(texts, distinct)
        return pa.chunked_array([pa.array(codes, pa.int8()).take(places.combine_chunks())])


@dataclass
class Directions:
    """How many rows of a source are arcs in which directions, so far."""

    forward: int = 0
    reverse: int = 0
    both: int = 0
    closed: int = 0

    def count(self, codes: Array) -> None:
        """Add rows by their codes."""
        counts = np.bincount(codes, minlength=4).tolist()
        self.closed += counts[CLOSED]
        self.forward += counts[FORWARD]
        self.reverse += counts[REVERSE]
        self.both += counts[BOTH]

    def take(self, others: "Directions") -> None:
        """Move the counts of one file of several here."""
        for name, rows in vars(others).items():
            setattr(self, name, getattr(self, name) + rows)
            setattr(others, name, 0)


def warn_of_one_way(file: str, rows: Directions) -> None:
    """Say so if each row is open in one direction only, as where T and F were written for true and false."""
    if rows.forward and rows.reverse and not rows.both:
        log.warning("%s: no row is open in both directions; if its T and F are not HERE's, [graph.oneway] states them", file)


def arcs_of(rows: Iterator[pa.Table], seen: Directions) -> Iterator[pa.Table]:
    """The arcs of rows that have a column `oneway` or `reverse_weight`, in the order of the rows; the reverse arc is the second.

    Args:
        rows: `src`, `dst`, perhaps `weight`, `oneway` (int8: codes) and `reverse_weight`, where a null or negative weight
            closes a direction.
        seen: Counts the rows.
    """
    for table in rows:
        codes = _codes(table)
        seen.count(codes)
        numbers = np.flatnonzero(np.stack([codes & FORWARD, codes & REVERSE], axis=1))
        taken, reverse = table.take(pa.array(numbers >> 1)), pa.array((numbers & 1).astype(np.bool_))
        columns = {"src": pc.if_else(reverse, taken["dst"], taken["src"]), "dst": pc.if_else(reverse, taken["src"], taken["dst"])}
        if "weight" in table.schema.names:
            back = taken["reverse_weight"] if "reverse_weight" in table.schema.names else taken["weight"]
            columns["weight"] = pc.if_else(reverse, back, taken["weight"])
        if "order" in table.schema.names:
            columns["order"] = taken["order"]
        yield pa.table(columns)


def _codes(table: pa.Table) -> Array:
    """The open directions of rows, int8: those of `oneway` whose weight is not negative and not null."""
    names = table.schema.names
    codes: Array = table["oneway"].to_numpy().copy() if "oneway" in names else np.full(len(table), BOTH, np.int8)
    if "reverse_weight" in names:
        for name, bit in (("weight", FORWARD), ("reverse_weight", REVERSE)):
            has_weight = pc.greater_equal(table[name], 0).fill_null(False).to_numpy()
            codes[~has_weight] &= ~bit
    return codes
