"""How many vertices a Parquet file probably has: ids are counted in some of its rows, and their growth is extended to all rows.

If a vertex with the rate x has an end of a row with the probability x / rows, and rates are spread as a gamma distribution of
shape c over a population of V ids (Greenwood and Yule, 1920), n ends have V (1 - (1 + n / (V c))^-c) different ids. A large c is
a random graph, a small one a network with few frequent ids. In Kronecker graphs, c itself grows by about the same factor whenever
the number of rows doubles, so that half of the sample and all of it give c for all rows. A file that goes through its vertices
several times, such as all streets to the east before all to the north, may be estimated a third too low.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernels.graph import Array

SAMPLE = 2**23  # rows, of which a core reads the ends in about a second
_BATCH = 2**18  # rows
_MARKS = 2**24  # ids, or hashes of ids, that are counted
_LOCAL = 0.8  # growth at this power of the rows is that of a file whose neighbouring rows have neighbouring ids
_EVEN = 0.7  # the same if each id is in some rows or blocks of rows, all about equally often
_FRESH = 0.75  # share of ends that are different in a random graph of which only a small part is read
_LARGEST, _STEEPEST = 1e6, 1.35  # of the shape, and of its growth when rows double


def distinct_ids(paths: Sequence[Path], columns: tuple[str, str], rows: int, above: int) -> int:
    """Estimate the different ids of two columns of integers in files of `rows` rows together; a few rows are counted exactly.

    Args:
        above: What all ids are below, by the files' footers.

    Raises what PyArrow raises for files that cannot be read.
    """
    marks, hashed, population = np.zeros(max(1, min(above, _MARKS)), bool), above > _MARKS, min(above, 2 * rows)
    read, counts = [0], [0]
    for batch in _batches(paths, columns, rows):
        for name in columns:
            ids = batch[name].drop_null().cast(pa.int64()).to_numpy(zero_copy_only=False)
            marks[_hashes(ids) if hashed else ids % len(marks)] = True
        read.append(read[-1] + len(batch))
        counts.append(_number(int(np.count_nonzero(marks)), hashed))
    half = int(np.searchsorted(read, read[-1] / 2))
    if read[-1] >= rows or not read[half] < read[-1]:
        return min(population, counts[-1])
    return min(population, _extended((read[half], read[-1]), (counts[half], counts[-1]), rows, population))


def _batches(paths: Sequence[Path], columns: tuple[str, str], rows: int) -> Iterator[pa.RecordBatch]:
    """Rows from row groups evenly over the files, first of every second one; all rows if they are few."""
    groups = [
        (path, number, metadata.row_group(number).num_rows)
        for path in paths
        for metadata in [pq.read_metadata(path)]
        for number in range(metadata.num_row_groups)
    ]
    most = rows
    if rows > SAMPLE:
        many = max(2, SAMPLE // max(count for *_, count in groups))
        groups = [groups[len(groups) * part // many] for part in range(many)] if len(groups) > many else groups
        most = max(_BATCH, SAMPLE // len(groups))
    for path, number, count in (*groups[::2], *groups[1::2]):
        left = min(most, count)
        with pq.ParquetFile(path, pre_buffer=False) as file:
            for batch in file.iter_batches(_BATCH, row_groups=[number], columns=[*columns], use_threads=False):
                yield batch.slice(0, left)
                left -= min(left, len(batch))
                if not left:
                    break


def _hashes(ids: Array) -> Array:
    """Numbers below `_MARKS` for ids: the finalizer of MurmurHash3 (Appleby, 2011)."""
    mixed = ids.view(np.uint64)
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        mixed = (mixed ^ (mixed >> np.uint64(33))) * np.uint64(factor)
    return (mixed ^ (mixed >> np.uint64(33))) & np.uint64(_MARKS - 1)


def _number(marked: int, hashed: bool) -> int:
    """How many ids have as many marks, by linear counting (Whang et al., 1990) if they are hashes."""
    return round(-_MARKS * np.log1p(-min(marked, _MARKS - 1) / _MARKS)) if hashed else marked


def _extended(read: tuple[int, int], counts: tuple[int, int], rows: int, population: int) -> int:
    """The different ids of all rows, by those of half of the rows that were read, and of all of these."""
    growth = np.log(counts[1] / max(1, counts[0])) / np.log(read[1] / read[0])
    if growth > _LOCAL and counts[1] < _FRESH * 2 * read[1]:
        return int(counts[1] * (rows / read[1]) ** growth)
    if growth > _EVEN:
        return int(-population * np.expm1(rows / read[1] * np.log1p(-min(counts[1] / population, 1 - 1e-9))))
    before, now = (_shape(2 * ends, count, population) for ends, count in zip(read, counts, strict=True))
    of_doubling = min(max(now / before, 1.0), _STEEPEST) ** (np.log(2) / np.log(read[1] / read[0]))
    return int(_different(2 * rows, min(now * of_doubling ** np.log2(rows / read[1]), _LARGEST), population))


def _different(ends: int, shape: float, population: int) -> float:
    return float(-population * np.expm1(-shape * np.log1p(ends / (population * shape))))


def _shape(ends: int, count: int, population: int) -> float:
    """The shape of the rates with which so many ends have this many different ids."""
    low, high = 1e-6, _LARGEST
    for _ in range(60):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if _different(ends, middle, population) < count else (low, middle)
    return low
