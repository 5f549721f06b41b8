"""The proof of what table `arcs` says of streets: each row, read back, is joined with the streets of the edge list by Arrow."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.graph import Array
from pipeline.errors import ProofFailed
from pipeline.tables.points import GEOMETRY
from pipeline.tables.streets import COLUMNS, UNITS, way_of

RULE = "way, class, name, length and line of each row are those of one street with its ends and weight; null where there is none"
_NONE = "\0"  # a name that no street has: a join does not find nulls
_LINE_HEAD = 9  # bytes


class StreetsProof:
    """The check of rows against the streets of an edge list."""

    def __init__(self, streets: pa.Table, weighted: bool) -> None:
        self._points, self._on = streets["points"].combine_chunks(), ["src", "dst", *(["weight"] if weighted else [])]
        number = pa.array(np.arange(len(streets)))
        self._way = way_of(streets.column_names)
        self._known = [name for name in COLUMNS if name in streets.column_names]
        name, metres = streets["name"].fill_null(_NONE), pc.divide(streets["length"].cast(pa.float64()), 1000.0)
        same = {self._way: streets[self._way], "class": streets["class"], "name": name, "length": metres, "street": number}
        forward = {
            "src": streets["src"],
            "dst": streets["dst"],
            "weight": streets["forward"],
            "back": pa.array([False] * len(number)),
        }
        backward = {
            "src": streets["dst"],
            "dst": streets["src"],
            "weight": streets["backward"],
            "back": pa.array([True] * len(number)),
        }
        both = pa.concat_tables([pa.table(forward | same), pa.table(backward | same)])
        self._streets = both.filter(both["weight"].is_valid())

    def require(self, file: str, rows: pa.Table) -> None:
        """Raise ProofFailed unless the rows of a file are right."""
        keys = [*self._on, *self._known]
        rows = rows.select(["src", "dst", "weight", *self._known, GEOMETRY]).append_column("row", pa.array(np.arange(len(rows))))
        named = rows.filter(rows[self._way].is_valid())
        joined = named.set_column(named.column_names.index("name"), "name", named["name"].fill_null(_NONE)).join(
            self._streets.drop_columns([] if "weight" in self._on else ["weight"]), keys, join_type="inner", use_threads=False
        )
        same = self._same_lines(joined)
        right = np.unique(joined["row"].to_numpy()[same])
        if len(right) != len(named):
            raise ProofFailed(f"arcs: {file}: a row says of its street what no street has")
        others = rows.filter(rows[self._way].is_null())
        missed = others.select(self._on).join(self._streets.select(self._on), self._on, join_type="left semi", use_threads=False)
        if len(missed) or any(others[name].null_count != len(others) for name in self._known):
            raise ProofFailed(f"arcs: {file}: a row says nothing of its street, or only in part")

    def _same_lines(self, rows: pa.Table) -> Array:
        """Whether the line of each row, which has a street, is that of the street, bool [n]."""
        lines, streets, back = rows[GEOMETRY].to_pylist(), rows["street"].to_numpy(), rows["back"].to_numpy(zero_copy_only=False)
        offsets, units = self._points.offsets.to_numpy(), self._points.values.to_numpy()
        same = np.zeros(len(lines), np.bool_)
        for row, line in enumerate(lines):
            due = units[offsets[streets[row]] : offsets[streets[row] + 1]].reshape(-1, 2) / UNITS
            due = due[::-1] if back[row] else due
            if (np.abs(np.diff(due[:, 0])) > 180).any():
                same[row] = _joined(line, due)
            else:
                same[row] = (
                    line[:_LINE_HEAD] == b"\x01\x02\0\0\0" + len(due).to_bytes(4, "little")
                    and line[_LINE_HEAD:] == np.ascontiguousarray(due, "<f8").tobytes()
                )
        return same


def _joined(line: bytes, due: Array) -> bool:
    """Whether a line that is cut at the 180th meridian has these points, besides those on the meridian."""
    points, at = list[Array](), _LINE_HEAD
    for _ in range(int.from_bytes(line[5:9], "little") if line[1] == 5 else 0):
        count = int.from_bytes(line[at + 5 : at + 9], "little")
        points.append(np.frombuffer(line, "<f8", 2 * count, at + _LINE_HEAD).reshape(-1, 2))
        at += _LINE_HEAD + 16 * count
    whole = np.concatenate(points) if points else np.frombuffer(line, "<f8", -1, _LINE_HEAD).reshape(-1, 2)
    inner, inner_due = (one[np.abs(one[:, 0]) != 180] for one in (whole, due))
    return at in (len(line), _LINE_HEAD) and np.array_equal(inner, inner_due)
