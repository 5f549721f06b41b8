"""A second reader of every format, after docs/formats.md: slow, by line, with the standard library and DuckDB only."""

import csv
import gzip
import lzma
import re
import struct
import sys
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cache, partial
from itertools import pairwise
from pathlib import Path

import duckdb

from tests.ingest import thrift

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MOST = 2**63 - 1
# A flag of gzip says that the content may be text, and nothing else (RFC 1952); DuckDB refuses it.
_GZIP_OF_TEXT, _GZIP = b"\x1f\x8b\x08\x01", b"\x1f\x8b\x08\x00"
_WEIGHTED = {"posweighted", "weighted", "multiposweighted", "multiweighted"}  # kinds of KONECT whose third column has weights
BLANKS = " \t\v\f"
WHITE = f"{BLANKS}\r\n"  # bytes above 127 and control characters are not blanks


class Refused(Exception):
    """The file is not a graph, and why."""


class Unread(Exception):
    """DuckDB does not open the file because of what need not be read, and its pages differ from those of the seed."""


@dataclass
class Graph:
    """What a file holds: rows of `src`, `dst` and perhaps `weight`, and what the file declares."""

    rows: list[tuple]
    weight: str | None = None
    directed: bool = True
    vertices: int | None = None


def read(path: Path, form: str, seed: bytes, third: bool = False, auto: bool = False) -> Graph:
    """Read a file, or else the Parquet file `seed`, which it was made from, if DuckDB cannot open it. Raises Refused.

    `third`: the third column of SNAP has weights. `auto`: the format was detected.
    """
    content = _decompressed(path.read_bytes())
    if form == "parquet":
        return _parquet(path, content, seed)
    text = content.removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    edges = {"snap": partial(_snap, third, auto), "konect": partial(_konect, auto)}
    return (edges | _READERS)[form]([line.removesuffix("\r") for line in text.split("\n")])


def _decompressed(content: bytes) -> bytes:
    readers = {b"\x1f\x8b": gzip.decompress, b"\xfd7zXZ\0": lzma.decompress, b"\x28\xb5\x2f\xfd": zstd.decompress}
    reader = next((reader for magic, reader in readers.items() if content.startswith(magic)), bytes)
    try:
        return reader(content)
    except Exception as error:
        raise Refused(f"cannot be decompressed: {error}") from None


def _words(line: str) -> list[str]:
    for blank in BLANKS:
        line = line.replace(blank, " ")
    if "\r" in line:
        raise Refused("a carriage return")
    return [word for word in line.split(" ") if word]


def _integer(word: str, low: int, high: int) -> int:
    digits = word.removeprefix("-")
    if not digits or set(digits) - set("0123456789") or len(digits.lstrip("0")) > 19:
        raise Refused(f"{word[:30]!r} is not an integer")
    value = int(digits.lstrip("0") or "0") * (-1 if word.startswith("-") else 1)
    if not low <= value <= high:
        raise Refused(f"{word[:30]} is not in {low}..{high}")
    return value


def _id(word: str, low: int, high: int) -> int:
    """An integer that is written as Python writes it."""
    value = _integer(word, low, high)
    if str(value) != word:
        raise Refused(f"{word[:30]} is another form of {value}")
    return value


def _is_other_form(word: str) -> bool:
    """Whether Python's `int` would read a text, which is not what `str` makes of the number."""
    text = word.encode("latin-1").decode(errors="replace")
    parts = text[text[:1] in ("+", "-") :].split("_")
    plain = text.removeprefix("-")
    ascii_digits = plain.isascii() and plain.isdecimal()
    return all(part.isdecimal() for part in parts) and (not ascii_digits or (plain.startswith("0") and text != "0"))


def _is_decimal_form(word: str) -> bool:
    """Whether a text is an id with a point or an exponent."""
    mantissa, _, exponent = word.lower().partition("e")
    whole, point, rest = mantissa.lstrip("+-").partition(".")
    if max(len(whole), len(rest)) > 40 or len(exponent.lstrip("+-")) > 3 or set(word) - set("0123456789.eE+-"):
        return False
    try:
        value = Decimal(word)
    except InvalidOperation:
        return False
    return bool(point or exponent) and abs(value) < 10**19 and value == int(value)


def _number(word: str) -> int | float:
    """An int64, or a float if the word is not an integer."""
    if not set(word) - set("-0123456789"):
        return _integer(word, 0, MOST)
    return _float(word)


def _float(word: str) -> float:
    try:
        value = float(word if not set(word) - set("+-.0123456789eE") else "x")
    except ValueError:
        raise Refused(f"{word[:30]!r} is not a number") from None
    if not 0 <= value < float("inf"):
        raise Refused(f"{word[:30]} is not finite, or negative")
    return value


def _weighted(rows: list[tuple], **declared) -> Graph:
    if any(isinstance(row[2], float) for row in rows):
        return Graph([(*row[:2], float(row[2])) for row in rows], "double", **declared)
    return Graph(rows, "int64", **declared)


def _filled(lines: list[str], comment: str) -> list[str]:
    """Lines without blanks at the ends, without blank lines and comments."""
    return [line for line in (line.strip(f"{BLANKS}\r") for line in lines) if line and not (comment and line.startswith(comment))]


def _header(line: str, words: list[str], count: int) -> list[int]:
    found = [word.decode("latin-1") for word in line.encode("latin-1").split()]
    numbers = found[len(words) :]
    if found[: len(words)] != words or len(numbers) != count or not all(re.fullmatch("[0-9]{1,18}", n) for n in numbers):
        raise Refused(f"not the header {words}: {line[:40]!r}")
    return [int(number) for number in numbers]


def _split(lines: list[str], comment: str, headers: int) -> tuple[list[str], list[list[str]]]:
    """The first lines that are neither blank nor comments, and the words of the others."""
    found: list[str] = []
    place = 0
    while len(found) < headers and place < len(lines):
        found += _filled(lines[place : place + 1], comment)
        place += 1
    kept = [line for line in lines[place:] if line.strip(BLANKS) and not (comment and line.lstrip(BLANKS).startswith(comment))]
    return found + [""] * (headers - len(found)), [_words(line) for line in kept]


def _counted(rows: list, declared: int) -> list:
    if len(rows) != declared:
        raise Refused(f"{len(rows)} rows, declared are {declared}")
    return rows


def _dimacs(lines: list[str]) -> Graph:
    (header,), rows = _split(lines, "c", 1)
    vertices, arcs = _header(header, ["p", "sp"], 2)
    return _weighted(_counted(_arc_rows(rows, 1, vertices), arcs), vertices=vertices)


def _arcs(lines: list[str]) -> Graph:
    return _weighted(_arc_rows(_split(lines, "c", 0)[1], 0, MOST))


def _edges(lines: list[str]) -> Graph:
    (header,), rows = _split(lines, "", 1)
    vertices, arcs = _header(header, [], 2)
    found = [(*row[:2], _number(row[2])) for row in _counted(_plain_rows(rows, 3, 0, vertices - 1), arcs)]
    if any(row[0] < before[0] for before, row in pairwise(found)):
        raise Refused("not in ascending order")
    return _weighted(found, vertices=vertices)


def _arc_rows(rows: list[list[str]], low: int, high: int) -> list[tuple]:
    if any(len(row) != 4 or row[0] != "a" for row in rows):
        raise Refused("not an arc")
    return [(_id(row[1], low, high), _id(row[2], low, high), _number(row[3])) for row in rows]


def _plain_rows(rows: list[list[str]], width: int, low: int, high: int) -> list[tuple]:
    if any(len(row) != width for row in rows):
        raise Refused("too few or too many fields")
    return [(_id(row[0], low, high), _id(row[1], low, high), *row[2:]) for row in rows]


def _comments(lines: list[str], mark: str) -> list[str]:
    """The comments before the first edge."""
    found = []
    for line in lines:
        comment = line.strip(f"{BLANKS}\r")
        if comment and not comment.startswith(mark):
            break
        found += [comment] if comment else []
    return found


def _snap(third: bool, auto: bool, lines: list[str]) -> Graph:
    directed, declared, nodes = None, None, None
    for comment in _comments(lines, "#"):
        if directed is None and (found := re.match(r"#+\s*(un)?directed\b", comment, re.IGNORECASE | re.ASCII)):
            directed = not found[1]
        if re.fullmatch(r"#+\s*([a-z-]+:\s*[0-9]{1,18}[\s,;]*)+", comment, re.IGNORECASE | re.ASCII):
            for name, count in re.findall(r"\b(nodes|edges):\s*([0-9]+)", comment, re.IGNORECASE | re.ASCII):
                declared, nodes = (int(count), nodes) if name.lower() == "edges" else (declared, int(count))
    found = _edge_rows(lines, "#", 3, declared, auto)
    if third and found and len(found[0]) < 3:
        raise Refused("no third column")
    if third:
        found = _weighted([(*row[:2], _number(row[2])) for row in found])
        return Graph(found.rows, found.weight, directed is not False, nodes)
    return Graph([row[:2] for row in found], directed=directed is not False, vertices=nodes)


def _konect(auto: bool, lines: list[str]) -> Graph:
    directed, declared, values = None, None, ""
    for number, comment in enumerate(_comments(lines, "%")):
        if number == 0 and (found := re.match(r"%+\s*(sym|asym|bip)\s+(\w+)\b", comment, re.IGNORECASE | re.ASCII)):
            directed, values = found[1].lower() == "asym", found[2].lower()
            if found[1].lower() == "bip" or values == "dynamic":
                raise Refused(comment)
        if number == 1 and directed is not None and 2 <= len(words := comment.lstrip("%").split()) <= 4:
            declared = int(words[0]) if all(re.fullmatch("[0-9]+", word) for word in words) and len(words[0]) <= 18 else None
    found = _edge_rows(lines, "%", 4, declared, auto)
    if values in _WEIGHTED and (not found or len(found[0]) > 2):
        found = _weighted([(*row[:2], _number(row[2])) for row in found])
        return Graph(found.rows, found.weight, directed is not False)
    return Graph([row[:2] for row in found], directed=directed is not False)


def _edge_rows(lines: list[str], mark: str, most: int, declared: int | None, auto: bool) -> list[tuple]:
    """Rows of `src`, `dst` and other words; a first line that looks like a header is refused where the format was detected."""
    rows = _split(lines, mark, 0)[1]
    width = min(max(len(rows[0]), 2), most) if rows else most
    found = _plain_rows(rows, width, 0, MOST)
    if declared is not None:
        _counted(found, declared)
    others = found[1:]
    if auto and others and all(re.fullmatch("[0-9]{1,19}", word) for word in map(str, found[0])):
        sizes = [int(word) for word in found[0]]
        fits = sizes[0] >= 2 and (len(others) >= 100 or max(max(row[:2]) for row in others) <= sizes[0])
        square = width == 3 and sizes[2] == len(others) and (sizes[0] == sizes[1] or len(others) >= 100)
        metis = sizes[0] == len(others) and 2 * sizes[1] == width * len(others)
        if fits and (sizes[1] == len(others) or square or metis):
            raise Refused("a header")
    return found


def _matrix(lines: list[str]) -> Graph:
    banner = [word.decode("latin-1") for word in lines[0].encode("latin-1").lower().split()]
    if len(banner) != 5 or banner[:2] != ["%%matrixmarket", "matrix"] or banner[2] not in {"coordinate", "array"}:
        raise Refused("no banner")
    kind, symmetry = banner[3:]
    if banner[2] == "array":
        return _array(lines[1:], kind, symmetry)
    if kind not in {"pattern", "integer", "real"} or symmetry not in {"general", "symmetric"}:
        raise Refused("not supported")
    (header,), rows = _split(lines[1:], "%", 1)
    height, width, entries = _header(header, [], 3)
    if height != width:
        raise Refused("not square")
    declared = {"vertices": height, "directed": symmetry == "general"}
    found = _counted(_plain_rows(rows, 2 if kind == "pattern" else 3, 1, height), entries)
    if kind == "pattern":
        return Graph(found, **declared)
    if kind == "integer":
        return Graph([(*row[:2], _integer(row[2], 0, MOST)) for row in found], "int64", **declared)
    return Graph([(*row[:2], _float(row[2])) for row in found], "double", **declared)


def _array(lines: list[str], kind: str, symmetry: str) -> Graph:
    if kind not in {"integer", "real"} or symmetry not in {"general", "symmetric"}:
        raise Refused("not supported")
    (header,), rows = _split(lines, "%", 1)
    height, width = _header(header, [], 2)
    if height != width or any(len(row) != 1 for row in rows):
        raise Refused("not square, or no values")
    directed = symmetry == "general"
    places = [(row, column) for column in range(1, height + 1) for row in range(1 if directed else column, height + 1)]
    read_value = partial(_integer, low=0, high=MOST) if kind == "integer" else _float
    values = [read_value(row[0]) for row in _counted(rows, len(places))]
    found = [(*place, value) for place, value in zip(places, values, strict=True) if value]
    return Graph(found, "int64" if kind == "integer" else "double", directed, height)


def _metis(lines: list[str]) -> Graph:
    start = next(
        (place for place, line in enumerate(lines) if line.strip(BLANKS) and not line.strip(BLANKS).startswith("%")), None
    )
    words = _words(lines[start]) if start is not None else []
    if not 2 <= len(words) <= 4 or (len(words) > 2 and not re.fullmatch("[01]{1,3}", words[2])):
        raise Refused("no header")
    form = words[2].rjust(3, "0") if len(words) > 2 else "000"
    vertices, edges, constraints = (_integer(word, 0, MOST) for word in (*words[:2], words[3] if words[3:] else "1"))
    before, step = (form[0] == "1") + (form[1] == "1") * constraints, 1 + (form[2] == "1")
    kept = [line for line in lines[start + 1 :] if not line.lstrip(BLANKS).startswith("%")]
    lists = [_words(line) for line in (kept[:-1] if kept and not lines[-1] else kept)]
    if len(lists) < vertices or any(lists[vertices:]):
        raise Refused("too few or too many lines")
    sides: tuple[list, list] = ([], [])
    for vertex, figures in enumerate(lists[:vertices], 1):
        numbers = [_id(figure, 0, MOST) for figure in figures]
        near = numbers[before:]
        if len(numbers) < before or len(near) % step or vertex in near[::step]:
            raise Refused("not the figures of a vertex")
        for place in range(0, len(near), step):
            other = _id(str(near[place]), 1, vertices)
            sides[vertex > other].append((min(vertex, other), max(vertex, other), *near[place + 1 : place + step]))
    if sorted(sides[0]) != sorted(sides[1]):
        raise Refused("an edge on one line only")
    return Graph(_counted(sides[0], edges), "int64" if step > 1 else None, False, vertices)


def _of_vertices(rows: list[list[str]], vertices: int, value: str) -> tuple[list[list[str]], list[tuple[int, str]]]:
    """The lines of edges, and what lines `n ID VALUE` before them say."""
    behind = next((place for place, row in enumerate(rows) if row[0] != "n"), len(rows))
    if any(len(row) != 3 or not re.fullmatch(value, row[2]) for row in rows[:behind]):
        raise Refused("not a value of a vertex")
    return rows[behind:], [(_id(row[1], 1, vertices), row[2]) for row in rows[:behind]]


def _dimacs_edge(lines: list[str]) -> Graph:
    (header,), rows = _split(lines, "c", 1)
    vertices, edges = _header(header, ["p", "col" if header.split()[:2] == ["p", "col"] else "edge"], 2)
    rows, _ = _of_vertices(rows, vertices, r"-?[0-9]+([.][0-9]+)?")
    if any(row[0] != "e" for row in rows):
        raise Refused("not an edge")
    return Graph(_counted(_plain_rows([row[1:] for row in rows], 2, 1, vertices), edges), directed=False, vertices=vertices)


def _dimacs_max(lines: list[str]) -> Graph:
    (header,), rows = _split(lines, "c", 1)
    vertices, arcs = _header(header, ["p", "max"], 2)
    rows, said = _of_vertices(rows, vertices, "[st]")
    if len({one for one, _ in said}) < len(said) or len({what for _, what in said}) < len(said):
        raise Refused("two sources, two sinks, or one vertex for both")
    return _weighted(_counted(_arc_rows(rows, 1, vertices), arcs), vertices=vertices)


def _pace(lines: list[str]) -> Graph:
    (header,), rows = _split(lines, "c", 1)
    vertices, edges = _header(header, ["p", "tw"], 2)
    return Graph(_counted(_plain_rows(rows, 2, 1, vertices), edges), directed=False, vertices=vertices)


def _gra(lines: list[str]) -> Graph:
    (_, header), rows = _split(lines, "", 2)
    (vertices,) = _header(header, [], 1)
    edges = []
    for row in _counted(rows, vertices):
        vertex, colon, children = " ".join(row).partition(":")
        if not colon or not children.endswith("#") or " " in vertex.strip(" "):
            raise Refused("not an adjacency line")
        src = _natural(vertex.strip(" "), vertices)
        edges += [(src, _natural(child, vertices)) for child in filter(None, children[:-1].split(" "))]
    return Graph(edges, vertices=vertices)


def _natural(word: str, vertices: int) -> int:
    return _id(word if not word.startswith("-") else "x", 0, vertices - 1)


def _numbered(rows: list[list[str]]) -> tuple[list[list[str]], int]:
    """Rows with ids that are strings: the ids become numbers in the order of their bytes; and how many there are."""
    ids = {end.encode("latin-1") for row in rows for end in row[:2]}
    try:
        if b"" in ids or not all(isinstance(one.decode(), str) for one in ids):
            raise Refused("an empty id")
    except UnicodeDecodeError:
        raise Refused("an id that is not UTF-8") from None
    number = {one.decode("latin-1"): str(place) for place, one in enumerate(sorted(ids))}
    return [[number[row[0]], number[row[1]], *row[2:]] for row in rows], len(number)


def _are_names(rows: list[list[str]]) -> bool:
    """Whether ids are strings, by the ids of each row in their order: the first row says so, or another form of an integer."""
    if rows and any(not (_is_integer(one) or _is_other_form(one) or _is_decimal_form(one)) for one in rows[0] if one):
        return True
    for one in (one for row in rows for one in row):
        if _is_other_form(one):
            return True
        _id(one, 0, MOST)
    return False


def _is_integer(word: str) -> bool:
    return re.fullmatch("0|-?[1-9][0-9]*", word) is not None


def _delimited(delimiter: str):
    def read(lines: list[str]) -> Graph:
        start = next((place for place, line in enumerate(lines) if line.strip(f"{BLANKS}\r")), None)
        if start is None:
            raise Refused("empty")
        names = [name.strip(WHITE).encode("latin-1").decode("utf-8", "replace") for name in _fields(lines[start].strip(WHITE))]
        places = [names.index(name) for name in ("src", "dst", "weight") if names.count(name) == 1]
        if any(names.count(name) != 1 for name in ("src", "dst")) or names.count("weight") > 1:
            raise Refused("no such column")
        rows = []
        for line in filter(None, lines[start + 1 :]):
            if line.count('"') % 2 or "\r" in line:
                raise Refused("a quote or a carriage return")
            fields = _fields(line)
            if len(fields) != len(names):
                raise Refused("too few or too many fields")
            rows.append([fields[place] for place in places])
        vertices = None
        if _are_names([[row[end].strip(" \t") for end in sorted((0, 1), key=places.__getitem__)] for row in rows]):
            rows, vertices = _numbered(rows)
        rows = [[value.strip(" \t") for value in row] for row in rows]
        found = _plain_rows(rows, len(places), 0, MOST)
        if len(places) == 3:
            return _weighted([(*row[:2], _number(row[2])) for row in found], vertices=vertices)
        return Graph(found, vertices=vertices)

    def _fields(line: str) -> list[str]:
        return next(csv.reader([line], delimiter=delimiter), [""])

    return read


_READERS = {
    "dimacs": _dimacs, "arcs": _arcs, "edges": _edges, "matrix-market": _matrix, "gra": _gra, "pace": _pace,
    "csv": _delimited(","), "tsv": _delimited("\t"), "metis": _metis, "dimacs-edge": _dimacs_edge, "dimacs-max": _dimacs_max,
}  # fmt: skip


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """One for each process; it keeps nothing of a file, because all inputs have the same name."""
    return duckdb.connect(config={"threads": 1, "enable_external_file_cache": False})


def _parquet(path: Path, content: bytes, seed: bytes) -> Graph:
    names = [name for name in ("src", "dst", "weight") if name in _names(content)]
    rows, vertices = selected(path, content, seed, names), None
    if any(isinstance(end, str) for row in rows for end in row[:2]):
        ids = sorted({end.encode() for row in rows for end in row[:2]})
        number = {one.decode(): place for place, one in enumerate(ids)}
        rows, vertices = [(number[row[0]], number[row[1]], *row[2:]) for row in rows], len(ids)
    return Graph(rows, "weight" if len(names) == 3 else None, vertices=vertices)


def selected(path: Path, content: bytes, seed: bytes, names: list[str]) -> list[tuple]:
    """Read columns with DuckDB; refuse a footer whose names or numbers of rows contradict each other or what was read."""
    present = _names(content)
    try:
        footer = thrift.footer_of(content)
        groups = thrift.field(footer, 4)[2][1]
        stated = [thrift.field(group, 3)[2] for group in groups]
        total = thrift.field(footer, 3)[2]
        tops = [
            thrift.field(thrift.field(chunk, 3)[2], 3)[2][1][0].decode("latin-1")
            for group in groups
            for chunk in thrift.field(group, 1)[2][1]
        ]
    except _MALFORMED as error:
        raise Refused(str(error)) from None
    if not set(tops) <= set(present):
        raise Refused(f"names {set(tops) - set(present)} are not in the schema")
    rows = _selected(path.with_suffix(".plain"), content, names)
    if rows is None:
        if _pages(content) != _pages(seed):
            raise Unread
        rows = _selected(path.with_suffix(".plain"), seed, names)
    if rows is None or not total == sum(stated) == len(rows):
        raise Refused(f"{total} rows, {stated} in groups, {rows and len(rows)} read")
    # Without its type in the schema a text is one for Arrow, which has stored the type again, but bytes for DuckDB.
    return [tuple(value.decode(errors="replace") if isinstance(value, bytes) else value for value in row) for row in rows]


_MALFORMED = (StopIteration, IndexError, TypeError, AssertionError, struct.error)


def _names(content: bytes) -> list[str]:
    """The names of the columns in the schema of a Parquet file, without those that are nested in others."""
    found, within = [], [0]  # elements that are missing in each of the columns around the next one
    try:
        for element in thrift.field(thrift.footer_of(content), 2)[2][1][1:]:
            if len(within) == 1:
                found.append(thrift.field(element, 4)[2].decode("latin-1"))
            else:
                within[-1] -= 1
            within.append(next((children for number, _, children in element if number == 5), 0))
            while len(within) > 1 and within[-1] <= 0:
                within.pop()
        return found
    except _MALFORMED as error:
        raise Refused(str(error)) from None


def _pages(content: bytes) -> bytes:
    """A Parquet file without its footer."""
    return content[: -8 - struct.unpack("<I", content[-8:-4])[0]]


def _selected(path: Path, content: bytes, names: list[str]) -> list[tuple] | None:
    """Rows of columns; None if DuckDB does not open the file because of other columns or of unread enumerations."""
    path.write_bytes(content.replace(_GZIP_OF_TEXT, _GZIP))
    try:
        _database().execute(f"DESCRIBE SELECT * FROM read_parquet('{path}')")
    except duckdb.Error:
        return None
    try:
        return _database().execute(f"SELECT {', '.join(names)} FROM read_parquet('{path}')").fetchall()
    except duckdb.Error as error:
        raise Refused(str(error)) from None
