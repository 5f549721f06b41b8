"""Validation of an output against a reference output, by the rules of the benchmark.

* bfs, cdlp: the values are equal.
* wcc: the values divide the vertices into the same sets.
* pr, lcc, sssp: |expected - actual| <= 0.0001 expected; infinities are equal. So a 0 has to be 0.

Both have the same vertices, each once: neither lacks one of the other.
"""

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import numpy as np

from kernels.graph import Array
from pipeline.errors import BadInput

EPSILON = 1e-4
UNREACHED = np.iinfo(np.int64).max
EXACT = ("bfs", "cdlp", "wcc")  # whose values are integers
_OPEN: dict[str, Callable[..., bytes]] = {
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".xz": lzma.decompress,
}


def read_reference(file: Path, algorithm: str) -> tuple[Array, Array]:
    """Vertices and values of an output, by ascending vertices. Raises BadInput for a line that is not a vertex and its value."""
    data = file.read_bytes()
    if file.suffix == ".zst":
        import pyarrow as pa

        with pa.input_stream(str(file), compression="zstd") as stream:
            data = stream.read()
    elif file.suffix in _OPEN:
        data = _OPEN[file.suffix](data)
    vertices, values = [], []
    kind: Callable[[str], int | float] = int if algorithm in EXACT else float
    for number, line in enumerate(data.decode().splitlines(), 1):
        if not line.strip():
            continue
        try:
            vertex, value = line.split()
            vertices.append(int(vertex))
            values.append(kind(value))
        except ValueError:
            raise BadInput(file, f"line {number}: {line!r} is not a vertex and its value") from None
    ids, of_ids = np.array(vertices, np.int64), np.array(values, np.int64 if algorithm in EXACT else np.float64)
    order = np.argsort(ids, kind="stable")
    return ids[order], of_ids[order]


def why_invalid(algorithm: str, expected: tuple[Array, Array], actual: tuple[Array, Array]) -> str:
    """The first difference between two outputs, which ascend by vertex; empty if the output is valid."""
    (ids, wanted), (own_ids, own) = expected, actual
    for some, others, where in ((ids, own_ids, "the output"), (own_ids, ids, "the reference")):
        if len(missing := np.setdiff1d(some, others)):
            return f"vertex {missing[0]} is not in {where}"
    if len(ids) != len(own_ids) or (np.diff(own_ids) == 0).any() or (np.diff(ids) == 0).any():
        return "a vertex has two values"
    if algorithm == "wcc":
        wanted, own = _named_by_first(wanted), _named_by_first(own)
    if algorithm in EXACT:
        wrong = wanted != own
    else:
        with np.errstate(invalid="ignore"):
            near = np.abs(wanted - own) <= EPSILON * wanted
        wrong = ~np.where(np.isinf(wanted) | np.isinf(own), wanted == own, near)
    if not wrong.any():
        return ""
    row = int(wrong.argmax())
    what = "is in another set than" if algorithm == "wcc" else f"is {own[row]}, not {wanted[row]}, as"
    return f"vertex {ids[row]} {what} in the reference"


def _named_by_first(labels: Array) -> Array:
    """Of each vertex the place of the first one with its label."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    named: Array = first[inverse]
    return named
