"""An edge list on the disk, read row group by row group on all cores: all of it, or the part of one rank."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernels.cpu.parallel import cores
from kernels.graph import ID, Array
from pipeline.errors import Damaged
from pipeline.runtime.backend import Backend
from pipeline.runtime.threads import map_in_order
from pipeline.store.facts import EdgeFacts
from pipeline.store.manifest import Folder

FILES = "part-*.parquet"


def read_edges(edges: Folder, backend: Backend = "cpu", rank: int = 0, size: int = 1) -> tuple[Array, Array, Array | None]:
    """Columns `src`, `dst` and `weight` of one of `size` parts of an edge list, whole row groups each.

    Returns:
        src, dst (int64 [E]): On a GPU int32, where all ids of all parts fit it.
        weights ([E] or None): The type that they are stored in; integers in 64 bits.

    Raises:
        Damaged: A file cannot be read, or the number of rows differs from the manifest's.
    """
    weight = EdgeFacts.of(edges).weight
    try:
        files = {path: pq.read_metadata(path) for path in sorted(edges.path.glob(FILES))}
        found = sum(metadata.num_rows for metadata in files.values())
        if found != EdgeFacts.of(edges).edges:
            raise Damaged(f"{edges.path}: {found} edges, the manifest says {EdgeFacts.of(edges).edges}")
        ids = _narrowest(files, ("src", "dst")) if backend == "gpu" else ID
        types = {"src": ids, "dst": ids} | ({} if weight is None else {"weight": _stored(weight)})
        groups = _part(files, found * rank // size, found * (rank + 1) // size)
        arrays, put = _arrays(groups[-1][-1] if groups else 0, types, backend)
        for _ in map_in_order(partial(_read, files, list(types), put), groups, cores()):
            pass
    except (OSError, pa.ArrowException, ValueError) as error:
        raise Damaged(f"{edges.path}: {error}") from None
    return arrays["src"], arrays["dst"], arrays.get("weight")


def narrow(weights: Array | None, of_all: Callable[[int], int] = int) -> Array | None:
    """Store integers in 32 bits where all fit; `of_all` returns the maximum over all parts, given that of this one."""
    if weights is None or weights.dtype.kind == "f":
        return weights
    fits = of_all(int(weights.max()) if len(weights) else 0) < 2**31
    return weights.astype(np.int32) if fits else weights


Group = tuple[Path, int, int, int]  # a row group: its file, its number there, and where its rows begin and end in the part
Put = Callable[[str, int, int, Array], None]


def _part(files: dict[Path, Any], start: int, stop: int) -> list[Group]:
    """The row groups that begin within these rows."""
    groups: list[Group] = []
    first = begin = 0
    for path, metadata in files.items():
        for number in range(metadata.num_row_groups):
            rows = metadata.row_group(number).num_rows
            if start <= first < stop:
                groups.append((path, number, begin, begin + rows))
                begin += rows
            first += rows
    return groups


def _read(files: dict[Path, Any], columns: list[str], put: Put, group: Group) -> None:
    path, number, begin, end = group
    with pq.ParquetFile(path, metadata=files[path], page_checksum_verification=True) as file:
        read = file.read_row_group(number, columns, use_threads=False)
    for name in columns:
        put(name, begin, end, read.column(name).to_numpy())


def _arrays(rows: int, types: dict[str, Any], backend: Backend) -> tuple[dict[str, Array], Put]:
    """New arrays where `backend` computes, and a function that copies rows into them."""
    if backend == "cpu":
        here = {name: np.empty(rows, dtype) for name, dtype in types.items()}
        return here, lambda name, begin, end, values: np.copyto(here[name][begin:end], values, "unsafe")
    import cupy

    from kernels.distributed.gpu.memory import Staging

    there = {name: cupy.empty(rows, dtype) for name, dtype in types.items()}
    staging = Staging(cupy.cuda.Device())
    return there, lambda name, begin, end, values: staging.copy(values, there[name][begin:end])


def _stored(weight: str) -> np.dtype[Any]:
    kind = np.dtype(pa.type_for_alias(weight).to_pandas_dtype())
    return kind if kind.kind == "f" else np.dtype(np.int64)


def _narrowest(files: dict[Path, Any], columns: tuple[str, ...]) -> np.dtype[Any]:
    """int32 where the statistics of the files show that all values of these columns fit, else int64."""
    for metadata in files.values():
        places = [place for place, name in enumerate(metadata.schema.to_arrow_schema().names) if name in columns]
        for number in range(metadata.num_row_groups):
            for place in places:
                statistics = metadata.row_group(number).column(place).statistics
                if not (statistics and statistics.has_min_max and statistics.max < 2**31):
                    return ID
    return np.dtype(np.int32)
