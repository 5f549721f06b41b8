"""The schema in a Parquet footer: its columns, whose names and types the rest of the footer must not contradict.

The numbers of the fields are those of https://github.com/apache/parquet-format (parquet.thrift).
"""

from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pipeline.ingest.formats.parquet.problems import Contradiction, Unreadable

ENCRYPTED = "is encrypted, and no key can be given; write it without encryption"
_ARROW = b"ARROW:schema"
_MOST_NESTED = 100  # columns within columns; Arrow fails at more
_OLDEST, _NEWEST = 0, 21  # older types that are defined
_TEXTS = {0, 4, 19}  # UTF8, ENUM and JSON, which are read alike
_TIME, _TIMESTAMP, _INTEGER = 7, 8, 10  # logical types that have parameters
# Of the others the older type that may stand beside each; -1: none.
_OLDER = {1: 0, 2: 1, 3: 3, 4: 0, 5: 5, 6: 6, 12: 0, 13: 20, 14: -1, 15: -1}
_FIRST_OF_TIME, _UNITS = {_TIME: 7, _TIMESTAMP: 9}, {1: 0, 2: 1}  # of milliseconds, of microseconds; none of nanoseconds
_FIRST_OF_INTEGERS, _WIDTHS = {False: 11, True: 15}, {8: 0, 16: 1, 32: 2, 64: 3}  # by sign and by bits


@dataclass(frozen=True)
class Leaf:
    """A column with values: its names from the top, its older type, and its logical type as a union of one field."""

    path: tuple[bytes, ...]
    converted: int | None
    logical: Mapping[int, Any]

    def check(self) -> None:
        """Raise Contradiction if the column has two types."""
        if self.converted is None:
            return
        older = 0 if self.converted in _TEXTS else self.converted
        wanted = next((_older(kind, content) for kind, content in self.logical.items()), None)
        if not _OLDEST <= older <= _NEWEST or wanted not in (None, older):
            raise Contradiction(f"column {_shown(self.path)!r} has two types")


@dataclass(frozen=True)
class FooterColumns:
    """The names of a footer's columns, and those with values; a nested column has several, or none."""

    tops: list[bytes]
    leaves: list[Leaf]


def columns_of(footer: Mapping[int, Any]) -> FooterColumns:
    """The columns of a footer in its order. Raises what a malformed footer raises."""
    root, *elements = footer[2]
    columns = FooterColumns([], [])
    around = [[(), root[5]]]  # the path of each group around an element, and how many elements it still has
    for element in elements:
        while not around[-1][1]:
            around.pop()
        if len(around) > _MOST_NESTED:
            raise ValueError
        around[-1][1] -= 1
        path = (*around[-1][0], element[4])
        if len(path) == 1:
            columns.tops.append(element[4])
        if element.get(5):
            around.append([path, element[5]])
        elif 1 in element:
            columns.leaves.append(Leaf(path, element.get(6), element.get(10, {})))
    return columns


def check_names(footer: Mapping[int, Any], columns: FooterColumns) -> None:
    """Raise Contradiction if a row group, or the schema of Arrow in the footer, calls a column otherwise than its schema does.

    All columns are checked, because one that has lost its name may be one that would be read. The notes of pandas are not: they
    keep the names that columns had before Arrow renamed them.
    """
    for number, group in enumerate(footer[4]):
        if len(group[1]) != len(columns.leaves):
            raise Contradiction(f"it has {len(columns.leaves)} columns, but row group {number} has {len(group[1])}")
        for leaf, chunk in zip(columns.leaves, group[1], strict=True):
            _check_name(leaf.path[0], chunk[3][3][0], f"row group {number}")
    for entry in footer.get(5, ()):
        if entry[1] == _ARROW:
            names = pa.ipc.read_schema(pa.py_buffer(b64decode(entry[2]))).names
            if len(names) == len(columns.tops):  # otherwise another program has added or dropped a column
                for top, name in zip(columns.tops, names, strict=True):
                    _check_name(top, name.encode(), "the schema that Arrow has stored")


def check_plain(footer: Mapping[int, Any]) -> None:
    """Raise Unreadable if columns are encrypted."""
    if 8 in footer or any(8 in chunk for group in footer[4] for chunk in group[1]):
        raise Unreadable(ENCRYPTED)


def _check_name(name: bytes, other: bytes, where: str) -> None:
    if name != other:
        raise Contradiction(f"column {_shown((name,))!r} is called {_shown((other,))!r} in {where}")


def _shown(path: Sequence[bytes]) -> str:
    return b".".join(path).decode(errors="replace")[:80]


def _older(kind: int, content: Mapping[int, Any]) -> int | None:
    """The older type of a logical type, -1 if there is none; None if the logical type is not known."""
    if kind == _INTEGER:
        return _FIRST_OF_INTEGERS[content[2]] + _WIDTHS[content[1][0]]
    if kind in _FIRST_OF_TIME:
        unit = _UNITS.get(next(iter(content[2])))
        return -1 if unit is None else _FIRST_OF_TIME[kind] + unit
    return _OLDER.get(kind)
