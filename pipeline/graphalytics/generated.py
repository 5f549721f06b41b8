"""Writes a random graph as a graph of the benchmark: properties, and vertices and edges as Parquet."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kernels.cpu.parallel import cores
from kernels.generators import Drawing, ends, weights
from kernels.generators.distinct import distinct_edges
from kernels.graph import Array
from pipeline.config.model import Choice, LocalFolder, Model
from pipeline.errors import BadConfig
from pipeline.runtime.backend import choose, fetch, use_gpu
from pipeline.runtime.threads import map_in_order
from pipeline.store.scratch import scratch
from pipeline.tables.files import file_name, write_rows

PART = 1 << 23  # edges of a file
_DRAWN = 1 << 22  # edges that are drawn at a time if all are written
DAMPING, ITERATIONS = 0.85, 10  # the benchmark's
Columns = tuple[Array, ...]  # src, dst and perhaps weight, int64, in host memory


class GenerateOptions(Model):
    """Where a graph is written, and by which backend."""

    out: LocalFolder
    backend: Choice = "auto"


@dataclass(frozen=True)
class Generated:
    """What was written."""

    edges: int
    vertices: int | None  # None if all drawn edges were written


class GeneratedFiles:
    """The files of a graph `name`, which are written into the folder `out` at once, when all are complete."""

    def __init__(self, name: str, options: GenerateOptions) -> None:
        """Raises BadConfig if `out` has content, or there is no GPU where one is requested."""
        out = options.out
        self._name, self._out = name, out
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise BadConfig(f"--out: {out} exists and is not an empty folder; a generated graph gets a folder of its own")
        self._arrays: Any = np
        if choose(options.backend) == "gpu":
            use_gpu()
            import cupy

            self._arrays = cupy

    def write(self, drawing: Drawing, weighted: bool) -> Generated:
        """Write the graph: each edge once, without self-loops, ascending, and the vertices that have edges."""
        occurs = np.zeros(drawing.num_ids, np.bool_)

        def pieces() -> Iterator[Columns]:
            for src, dst in distinct_edges(drawing, self._arrays):
                columns = tuple(map(fetch, (src, dst, *([weights(src, dst, drawing.seed)] if weighted else []))))
                occurs[columns[0]] = occurs[columns[1]] = True
                yield columns

        with scratch(self._out.parent) as folder:
            edges = self._write_edges(folder, pieces(), ["src", "dst"])
            ids = np.flatnonzero(occurs)
            write_rows(folder / f"{self._name}.v.parquet", _schema(["vertex"]), ["vertex"], [_batch(["vertex"], (ids,))])
            text = "".join(f"graph.{self._name}.{line}\n" for line in self._properties(drawing, len(ids), edges, weighted))
            (folder / f"{self._name}.properties").write_text(text, encoding="utf-8")
            folder.rename(self._out)
        return Generated(edges, len(ids))

    def write_drawn(self, drawing: Drawing, weighted: bool) -> Generated:
        """Write all edges as they are drawn, in this order, with self-loops and parallel edges."""

        def pieces() -> Iterator[Columns]:
            for begin in range(0, drawing.num_edges, _DRAWN):
                src, dst = ends(drawing, begin, min(begin + _DRAWN, drawing.num_edges), self._arrays)
                yield tuple(map(fetch, (src, dst, *([weights(src, dst, drawing.seed)] if weighted else []))))

        with scratch(self._out.parent) as folder:
            edges = self._write_edges(folder, pieces(), [])
            folder.rename(self._out)
        return Generated(edges, None)

    def _write_edges(self, folder: Path, pieces: Iterator[Columns], keys: list[str]) -> int:
        """Write files of PART edges, encoded on all cores while the next ones are drawn; return the number of edges."""
        target = folder / f"{self._name}.e.parquet"
        target.mkdir()

        def write(numbered: tuple[int, Columns]) -> int:
            number, columns = numbered
            names = ["src", "dst", "weight"][: len(columns)]
            return write_rows(target / file_name(number), _schema(names), keys, [_batch(names, columns)])

        return sum(map_in_order(write, enumerate(parts(pieces, PART)), cores()))

    def _properties(self, drawing: Drawing, vertices: int, edges: int, weighted: bool) -> list[str]:
        src, dst = ends(drawing, 0, min(64, drawing.num_edges))
        source = int(src[np.flatnonzero(src != dst)[0]])
        lines = [
            f"vertex-file = {self._name}.v.parquet",
            f"edge-file = {self._name}.e.parquet",
            f"meta.vertices = {vertices}",
            f"meta.edges = {edges}",
            "directed = false",
            f"algorithms = bfs, cdlp, lcc, pr, wcc{', sssp' if weighted else ''}",
            f"bfs.source-vertex = {source}",
            f"cdlp.max-iterations = {ITERATIONS}",
            f"pr.damping-factor = {DAMPING}",
            f"pr.num-iterations = {ITERATIONS}",
        ]
        if weighted:
            lines += ["edge-properties.names = weight", "edge-properties.types = real"]
            lines += ["sssp.weight-property = weight", f"sssp.source-vertex = {source}"]
        return lines


def parts(pieces: Iterable[Columns], rows: int) -> Iterator[Columns]:
    """The rows of the pieces, `rows` at a time; the last part may have fewer."""
    waiting: list[Columns] = []
    count = 0
    for columns in pieces:
        waiting.append(columns)
        count += len(columns[0])
        if count < rows:
            continue
        joined = tuple(map(np.concatenate, zip(*waiting, strict=True)))
        whole = count - count % rows
        for begin in range(0, whole, rows):
            yield tuple(column[begin : begin + rows] for column in joined)
        waiting, count = [tuple(column[whole:].copy() for column in joined)], count - whole
    if count:
        yield tuple(map(np.concatenate, zip(*waiting, strict=True)))


def _schema(names: list[str]) -> pa.Schema:
    return pa.schema([pa.field(name, pa.int64(), nullable=False) for name in names])


def _batch(names: list[str], columns: Columns) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=_schema(names))
