"""Changes of a file: of its bytes, its lines and numbers, or the fields of a Parquet footer."""

import random
import re
from collections.abc import Callable

from tests.ingest import thrift

NUMBERS = [
    b"0", b"-0", b"-1", b"+5", b"1", b"00007", b"0x1F", b"1_0", b"1e5", b"1E-400", b"1e400", b"2.", b".5", b"-.5", b"nan", b"inf",
    b"-inf", b"NaN(1)", b"9223372036854775807", b"9223372036854775808", b"18446744073709551615", b"4294967296", b"70000", b"",
    b"007", b"00", b"+7", b"-00", b"1_000", b"\xef\xbc\x97", b"\xd9\xa3", b"25190.0", b"1e+05", b".0", b"1E0", b"10e-1", b" 7",
    b"9" * 5000, b"0" * 5000 + b"3", b"1" * 20_000 + b"x", b"1e", b"--1", b"1.5.5", b"1d3", b"1,5", b"5e-324", b"1e308", b"2e308",
]  # fmt: skip
TOKENS = [
    b'"', b'""', b'"\n', b",", b"\t", b" ", b"\v", b"\f", b"\r", b"\r\n", b"\n", b"\n\n\n", b"\0", b"#", b"%", b":", b"c", b"c ",
    b"p ", b"a ", b"p sp 3 3\n", b"# Nodes: 1 Edges: 1\n", b"# Undirected\n",
    b"# Nodes: 2\n", b"# Edges: 3\n", b"% sym unweighted\n", b"% asym posweighted\n", b"% bip positive\n",
    b"p edge 3 3\n", b"p max 3 3\n", b"n 1 s\n", b"n 2 7\n", b"e 1 2\n", b"%%MatrixMarket matrix array real general\n",
    b"% 3 3 3\n", b"% x\n", b"3 2\n", b"9 9 4\n", b"0", b"+", b"-", b"_", b"\xe9", b"\xc3\xa9", b"\xe4\xf6\xfc", b"\xef\xbc\x91",
    b"\xef\xbb\xbf", b"\xff", b"\x85", b"\xa0", b"\x1c", b"'", b"\\",
    b" " * 300, b"\n" * 300, b"# x\n" * 50,
]  # fmt: skip
INTEGERS = [0, 1, -1, 2, 3, 127, 128, 2**15, 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1, -(2**31), -(2**63)]


def of_bytes(data: bytes, rng: random.Random) -> bytes:
    """Flip, insert, remove, repeat or overwrite bytes, or cut the file."""
    at = rng.randrange(len(data) + 1)
    size = rng.choice([1, 1, 1, 2, 4, 16, 100])
    kind = rng.randrange(6)
    if kind == 0 and at < len(data):
        return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
    if kind == 1:
        return data[:at] + rng.randbytes(size) + data[at:]
    if kind == 2:
        return data[:at] + data[at + size :]
    if kind == 3:
        return data[:at] + data[at : at + size] * rng.choice([2, 3, 50]) + data[at + size :]
    if kind == 4:
        return data[:at] + rng.randbytes(size) + data[at + size :]
    return data[:at]


def of_text(data: bytes, rng: random.Random) -> bytes:
    """Replace a number, insert a token, or move, remove or repeat lines."""
    kind = rng.randrange(7)
    if kind == 5 and (starts := [found.start() for found in re.finditer(rb"(?<![0-9])[0-9]", data)]):
        at = rng.choice(starts)
        return data[:at] + rng.choice([b"0", b"00", b"+", b"-0", b" ", b"\xef\xbb\xbf", b"x", b"\xe9"]) + data[at:]
    if kind == 6:
        return _with_header(data, rng)
    if kind == 0 and (numbers := [found.span() for found in re.finditer(rb"[0-9.e+-]+", data)]):
        start, end = rng.choice(numbers)
        return data[:start] + rng.choice(NUMBERS) + data[end:]
    if kind == 1:
        at = rng.randrange(len(data) + 1)
        return data[:at] + rng.choice(TOKENS) + data[at:]
    lines = data.splitlines(keepends=True)
    if kind == 2 and lines:
        lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines))
    elif kind == 3 and lines:
        lines.pop(rng.randrange(len(lines)))
    elif kind == 4:
        return data.replace(*rng.choice([(b"\n", b"\r\n"), (b" ", b"  "), (b"\t", b" "), (b" ", b"\t"), (b"\n", b"\n\n")]))
    return b"".join(lines)


def _with_header(data: bytes, rng: random.Random) -> bytes:
    """A first line, as of METIS or of a matrix without its banner, that states the number of lines, or nearly."""
    lines = data.count(b"\n")
    vertices, count = rng.choice([lines, 30, 31, 100]), lines + rng.choice([0, 0, 0, 1, -1])
    form = rng.choice([b"%d %d\n", b"%d\t%d\n", b"%% sym unweighted\n%% %d %d\n", b"# Nodes: %d Edges: %d\n"])
    return (form % (vertices, count) if rng.random() < 0.7 else b"%d %d %d\n" % (vertices, vertices, count)) + data


def of_footer(data: bytes, rng: random.Random) -> bytes:
    """Change, remove or repeat fields of a Parquet footer; the others stay as they are."""
    footer = thrift.footer_of(data)
    places = list(_places(thrift.STRUCT, footer))
    _change(*rng.choice(places), rng)
    try:
        return thrift.with_footer(data, footer)
    except (TypeError, ValueError, OverflowError):
        return data


def _places(kind, value):
    """Every list within a structure, with the position of an item that may be changed and its type."""
    if kind == thrift.STRUCT:
        for field in value:
            yield field, 2, field[1]
            yield from _places(field[1], field[2])
        if value:
            yield value, -1, kind
    elif kind == thrift.LIST:
        inner, items = value
        for position, item in enumerate(items):
            yield items, position, inner
            yield from _places(inner, item)
        if items:
            yield items, -1, kind


def _change(holder, position, kind, rng: random.Random) -> None:
    if position == -1:
        number = rng.randrange(len(holder))
        if rng.random() < 0.5:
            holder.pop(number)
        else:
            holder.insert(number, holder[rng.randrange(len(holder))])
    elif kind in (thrift.I16, thrift.I32, thrift.I64, thrift.BYTE):
        old = holder[position]
        new = rng.choice([old + 1, old - 1, old * 2, old // 2, old + rng.randint(-100, 100), rng.choice(INTEGERS)])
        holder[position] = new & 255 if kind == thrift.BYTE else new
    elif kind == thrift.BYTES:
        holder[position] = of_bytes(holder[position], rng)
    elif kind in (thrift.TRUE, thrift.FALSE):
        holder[position] = not holder[position]


def repeated(change: Callable[[bytes, random.Random], bytes], data: bytes, rng: random.Random) -> bytes:
    """Apply a change a few times."""
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        data = change(data, rng)
    return data
