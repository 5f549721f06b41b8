"""Outputs of the benchmark, lines of a vertex and its value: written and read on all cores."""

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from kernels.cpu.parallel import cores
from kernels.graph import Array
from pipeline.errors import BadInput
from pipeline.graphalytics.validation import EXACT
from pipeline.runtime.threads import map_in_order

_LINES = 1 << 18  # that a thread writes at a time
_OPEN: dict[str, Callable[..., bytes]] = {".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress}
_WRITTEN = pyarrow.csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
_PARSED = pyarrow.csv.ParseOptions(delimiter=" ", quote_char=False)


def write_output(file: Path, ids: Array, values: Array) -> None:
    """Write a line for each vertex; a value is an integer, the shortest decimal that is the float64, or `Infinity`.

    Args:
        ids (int64 [V]): Ascending.
        values (int64 or float64 [V])
    """
    parts = (slice(begin, begin + _LINES) for begin in range(0, len(ids), _LINES))
    with file.open("wb") as stream:
        for lines in map_in_order(lambda part: _lines(ids[part], values[part]), parts, cores()):
            stream.write(lines)


def _lines(ids: Array, values: Array) -> pa.Buffer:
    texts = pa.array(values)
    if np.isinf(values).any():
        texts = pc.if_else(pa.array(np.isinf(values)), "Infinity", pc.cast(texts, pa.string()))
    lines = pa.BufferOutputStream()
    pyarrow.csv.write_csv(pa.table({"vertex": ids, "value": texts}), lines, _WRITTEN)
    return lines.getvalue()


def read_reference(file: Path, algorithm: str) -> tuple[Array, Array]:
    """Vertices and values of an output, by ascending vertices. Raises BadInput for a line that is not a vertex and its value."""
    data = file.read_bytes()
    if file.suffix == ".zst":
        with pa.input_stream(str(file), compression="zstd") as stream:
            data = stream.read()
    elif file.suffix in _OPEN:
        data = _OPEN[file.suffix](data)
    kind = pa.int64() if algorithm in EXACT else pa.float64()
    try:
        ids, values = _columns(data, kind)
    except pa.ArrowInvalid:  # also what the quick reader does not take, such as several spaces
        ids, values = _by_lines(file, data, kind)
    if (ids[1:] > ids[:-1]).all():
        return ids, values
    order = np.argsort(ids, kind="stable")
    return ids[order], values[order]


def _columns(data: bytes, kind: pa.DataType) -> tuple[Array, Array]:
    if not data.strip():
        return np.empty(0, np.int64), np.empty(0, kind.to_pandas_dtype())
    types = {"vertex": pa.int64(), "value": kind}
    table = pyarrow.csv.read_csv(
        pa.BufferReader(data),
        pyarrow.csv.ReadOptions(column_names=[*types]),
        _PARSED,
        pyarrow.csv.ConvertOptions(column_types=types, null_values=[], strings_can_be_null=False),
    )
    ids, values = (table[name].to_numpy() for name in types)
    return ids, values


def _by_lines(file: Path, data: bytes, kind: pa.DataType) -> tuple[Array, Array]:
    """As `_columns`, a line at a time, which finds the first wrong one."""
    read: Callable[[str], int | float] = int if pa.types.is_integer(kind) else float
    vertices, values = [], []
    for number, line in enumerate(data.decode().splitlines(), 1):
        if not line.strip():
            continue
        try:
            vertex, value = line.split()
            vertices.append(int(vertex))
            values.append(read(value))
        except ValueError:
            raise BadInput(file, f"line {number}: {line!r} is not a vertex and its value") from None
    return np.array(vertices, np.int64), np.array(values, kind.to_pandas_dtype())
