"""Where segments are cut: at connectors, at their ends, and where what the rules say of a traveller changes.

Most segments have rules for their whole length, and share them with many others: these are looked at once for all of them.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.graph import Array
from pipeline.ingest.formats.overture.codes import both, codes_of
from pipeline.ingest.formats.overture.columns import LISTS
from pipeline.ingest.formats.overture.lines import NEAR, SAME
from pipeline.ingest.formats.overture.rules import RoadRules, Row, ends_of_rules, is_conditional

_RULED = ("class", "subclass", *LISTS)
CLOSED, _RANGED = -1, -2
Refusing = Callable[[int, Callable[[], Any]], Any]  # calls a function for a row; its ValueError becomes a BadInput


@dataclass(frozen=True)
class Cuts:
    """The places at which segments are cut, by row and place.

    Attributes:
        row (int64 [n]), at (float64 [n]): The segment, and the share of its length.
        names (string [n]): The ids of the vertices there.
        street (int64 [n]): Of the part that begins there: the number of a street, or -1 if it is none; -1 of the last of a row.
        left: How many rows have no street, by the reason.
    """

    row: Array
    at: Array
    names: pa.Array
    street: Array
    left: Counter[str]


def conditional_rules(rows: pa.Table) -> int:
    """How many rules are left out because they are conditional."""
    total = 0
    for name in {"access_restrictions", "speed_limits"}.intersection(rows.column_names):
        column = rows[name].combine_chunks()
        _, first, counts = np.unique(codes_of(column), return_index=True, return_counts=True)
        for stated, count in zip(column.take(pa.array(first)).to_pylist(), counts.tolist(), strict=True):
            total += count * sum(is_conditional(rule.get("when")) for rule in stated or () if rule)
    return total


def cuts_of(rows: pa.Table, metres: Array, rules: RoadRules, refusing: Refusing) -> Cuts:
    """The cuts of segments.

    Args:
        rows: Without their geometry.
        metres (float64 [n]): Their lengths.
        rules: What they say.
        refusing: Gets what is wrong.
    """
    joined = _connectors(rows["connectors"].combine_chunks(), refusing)
    said = _said(rows, metres, rules, refusing)
    plain = said.street != _RANGED
    row, at, names = joined
    row, at, names = row[plain[row]], at[plain[row]], names.filter(pa.array(plain[row]))
    near = np.divide(NEAR, metres, out=np.ones(len(metres)), where=metres > 0)
    least, most = np.full(len(rows), np.inf), np.zeros(len(rows))
    np.minimum.at(least, row, at)
    np.maximum.at(most, row, at)
    begin, end = np.flatnonzero(plain & (least > near)), np.flatnonzero(plain & (most < 1 - near))
    ids = rows["id"].combine_chunks().cast(pa.string())
    first, last = (pc.binary_join_element_wise(ids.take(pa.array(of)), text, "") for of, text in ((begin, "@0"), (end, "@1")))
    ranged = [cut for of_row in said.ranged for cut in of_row]
    parts = (begin, row, end, np.array([cut[0] for cut in ranged], np.int64))
    rank = np.repeat([0, 1, 2, 1], [len(part) for part in parts])  # of those at one place
    at = np.concatenate([np.zeros(len(begin)), at, np.ones(len(end)), np.array([cut[1] for cut in ranged], np.float64)])
    names = pa.concat_arrays([first, names, last, pa.array([cut[2] for cut in ranged], pa.string())])
    row = np.concatenate(parts)
    order = np.lexsort((rank, at, row))
    row = row[order]
    street = np.where(plain, said.street, CLOSED)[row]
    street[~plain[row]] = [cut[3] for cut in ranged]
    street[np.flatnonzero(np.diff(row, append=-1) != 0)] = CLOSED
    left = said.left
    if points := int((plain & (said.street >= 0) & (np.bincount(row, minlength=len(rows)) < 2)).sum()):
        left["a point"] += points
    return Cuts(row, at[order], names.take(pa.array(order)), street, left)


def _connectors(lists: pa.Array, refusing: Refusing) -> tuple[Array, Array, pa.Array]:
    """The connectors of segments: their rows, int64 [n], places, float64 [n], and ids, string [n]."""
    row = np.repeat(np.arange(len(lists)), pc.list_value_length(lists).fill_null(0).to_numpy())
    flat = lists.flatten()
    names, stated = (pc.struct_field(flat, name) for name in ("connector_id", "at"))
    at = stated.cast(pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False)
    wrong = ~((at >= 0) & (at <= 1)) | ~(pc.binary_length(names).fill_null(0).to_numpy() > 0)
    if wrong.any():
        place = int(np.argmax(wrong))

        def refuse() -> None:
            where = f"a connector {names[place].as_py()} at {stated[place].as_py()}"
            raise ValueError(f"has {where}, expected a share of its length from 0 to 1")

        refusing(int(row[place]), refuse)
    return row, at, names.cast(pa.string())


@dataclass
class _Verdicts:
    """What rules say of segments.

    Attributes:
        street (int64 [n]): The number of the street that each is everywhere, CLOSED, or _RANGED if rules are for parts of it.
        ranged: Of the latter the cuts of each that has a street: rows, places, ids, and streets of the parts that begin there.
        left: How many rows have no street, by the reason.
    """

    street: Array
    ranged: list[list[tuple[int, float, str, int]]]
    left: Counter[str]


def _said(rows: pa.Table, metres: Array, rules: RoadRules, refusing: Refusing) -> _Verdicts:
    """What the rules say, asked in the order of rows, which numbers the streets."""
    names = [name for name in _RULED if name in rows.column_names]
    code = np.zeros(len(rows), np.int64)
    for name in names:
        code = both(code, codes_of(rows[name].combine_chunks()))
    _, first, code = np.unique(code, return_index=True, return_inverse=True)
    distinct = rows.select(names).take(pa.array(first)).to_pylist()
    has_ranges = np.array(
        [any(rule and rule.get("between") is not None for name in LISTS for rule in one.get(name) or ()) for one in distinct],
        np.bool_,
    )
    ranged = np.flatnonzero(has_ranges[code]) if len(code) else code
    columns = [*names, "id", "connectors"]
    stated = iter(rows.select(columns).take(pa.array(ranged)).to_pylist())
    said = _Verdicts(np.full(len(rows), _RANGED), [], Counter())
    of_code, counts = np.full(len(distinct), CLOSED), np.bincount(code, minlength=len(distinct)).tolist()
    plain = first[~has_ranges] if len(distinct) else first
    for row in np.sort(np.concatenate([plain, ranged])).tolist():
        number = int(code[row])
        if has_ranges[number]:
            refusing(row, partial(_add_ranged, said, row, next(stated), float(metres[row]), rules))
            continue
        verdict = refusing(row, partial(rules.verdict, distinct[number], 0.5))
        if isinstance(verdict, str):
            said.left[verdict] += counts[number]
        else:
            of_code[number] = verdict
    whole = ~has_ranges[code] if len(code) else np.zeros(0, np.bool_)
    said.street[whole] = of_code[code[whole]]
    return said


def _add_ranged(said: _Verdicts, number: int, row: Row, metres: float, rules: RoadRules) -> None:
    """Add the cuts of a segment with rules for parts of it. Raises ValueError for what is no range."""
    cuts = _cuts(row, metres, rules)
    verdicts = [rules.verdict(row, (one[0] + other[0]) / 2) for one, other in pairwise(cuts)]
    streets = [CLOSED if isinstance(verdict, str) else verdict for verdict in verdicts]
    if all(street == CLOSED for street in streets):
        said.left[str(verdicts[0]) if verdicts else "a point"] += 1
        return
    said.ranged.append([(number, at, name, street) for (at, name), street in zip(cuts, [*streets, CLOSED], strict=True)])


def _cuts(row: Row, metres: float, rules: RoadRules) -> list[tuple[float, str]]:
    """Where a segment with rules for parts of it is cut, and the ids of the vertices there."""
    near = NEAR / metres if metres else 1.0
    cuts = [(connector["at"], connector["connector_id"]) for connector in row["connectors"] or ()]
    cuts.sort(key=lambda cut: cut[0])
    if not cuts or cuts[0][0] > near:
        cuts.insert(0, (0.0, f"{row['id']}@0"))
    if cuts[-1][0] < 1 - near:
        cuts.append((1.0, f"{row['id']}@1"))
    bounds = [0.0, *ends_of_rules(row), 1.0]
    said = [rules.verdict(row, (begin + end) / 2) for begin, end in pairwise(bounds)] if bounds[2:] else []
    for at, before, behind in zip(bounds[1:], said, said[1:], strict=False):
        if before != behind and all(abs(at - known) > SAME for known, _ in cuts):
            cuts.append((at, f"{row['id']}@{at:g}"))
    return sorted(cuts, key=lambda cut: cut[0])
