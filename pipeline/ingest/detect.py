"""Which format a file is in: by its content first, by its name second."""

from __future__ import annotations

import re
from typing import get_args

from pipeline.config.run import Columns, Format
from pipeline.errors import BadInput
from pipeline.ingest.delimited import header_names
from pipeline.ingest.text import BOM, shown

HEAD = 2**18  # bytes looked at
_ARC = re.compile(rb"a(\s+\d+){2}\s+\S+")
_COORDINATES = re.compile(rb"p\s+aux\s+sp\s+co\b")
_SUFFIXES: dict[str, Format] = {
    "gr": "dimacs", "mtx": "matrix-market", "gra": "gra", "csv": "csv", "tsv": "tsv", "parquet": "parquet",
}  # fmt: skip
_COMPRESSED = re.compile(r"\.(gz|xz|zst)$")
_FIRST_LINES: tuple[tuple[re.Pattern[bytes], Format], ...] = (
    (re.compile(rb"%%MatrixMarket\b", re.IGNORECASE), "matrix-market"),
    (re.compile(rb"p\s+sp\b"), "dimacs"),
    (re.compile(rb"p\s+tw\b"), "pace"),
    (re.compile(rb"#"), "snap"),
    (re.compile(rb"-?\d+[ \t]+-?\d+([ \t]+[-+.\w]+)?"), "snap"),
)


def detect(head: bytes, file: str, columns: Columns) -> Format:
    """Name the format of a file that starts with `head`. Raises BadInput where it is none that is read."""
    if head.startswith(b"PAR1"):
        return "parquet"
    if b"\0" in head:
        raise BadInput(file, f"is a binary file, and no graph: {_known()}")
    lines = {number: line.strip() for number, line in enumerate(head.removeprefix(BOM).split(b"\n"), 1) if line.strip()}
    content = {number: line for number, line in lines.items() if not re.match(rb"c(\s|$)", line)}
    number, first = next(iter(content.items()), (1, b""))
    if _ARC.fullmatch(first):
        raise BadInput(file, 'arcs without a header "p sp VERTICES ARCS"; format = "arcs" reads them', number)
    if _COORDINATES.match(first):
        raise BadInput(file, "holds coordinates; graph.coordinates names such a file", number)
    if found := _by_content(list(lines.values()), first, columns) or _by_name(file):
        return found
    raise BadInput(file, f"{shown(first)} starts no graph that this reads: {_known()}", number)


def _by_content(lines: list[bytes], first: bytes, columns: Columns) -> Format | None:
    for pattern, name in _FIRST_LINES:
        if pattern.match(first):
            return name
    if {columns.src, columns.dst} <= set(header_names(lines[0], ",")):
        return "csv"
    if {columns.src, columns.dst} <= set(header_names(lines[0], "\t")):
        return "tsv"
    if len(lines) > 1 and lines[1].isdigit() and (len(lines) == 2 or re.match(rb"\d+ ?:", lines[2])):
        return "gra"
    return None


def _by_name(file: str) -> Format | None:
    return _SUFFIXES.get(_COMPRESSED.sub("", file.lower()).rpartition(".")[2])


def _known() -> str:
    return f"the formats are {', '.join(name for name in get_args(Format) if name != 'auto')}"
