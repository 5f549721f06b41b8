"""How many vertices a Parquet file probably has: ids are counted in some of its rows, and their growth is extended to all rows.

If a vertex with the rate x has an end of a row with the probability x / rows, and rates are spread as a gamma distribution of
shape c over a population of V ids (Greenwood and Yule, 1920), n ends have V (1 - (1 + n / (V c))^-c) different ids. A large c is
a random graph, a small one a network with few frequent ids. In Kronecker graphs, c itself grows by about the same factor whenever
the number of rows doubles, so that half of the sample and all of it give c for all rows. Where neighbouring rows have
neighbouring ids, new ids come evenly, once in each pass of the file over its vertices, such as all streets to the east before all
to the north: how often footers cover each id of their ranges, and how often the rows that were read do, tells the passes.
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
_NARROW = 8  # parts of all ids: batches with fewer ids than one part are those of a file in some order
_WIDE = 4  # times the ids of the median range for as many rows
_LARGEST, _STEEPEST = 1e6, 1.35  # of the shape, and of its growth when rows double


def distinct_ids(paths: Sequence[Path], columns: tuple[str, str], rows: int, above: int) -> int:
    """Estimate the different ids of two columns of integers in files of `rows` rows together; a few rows are counted exactly.

    Args:
        above: What all ids are below, by the files' footers.

    Raises what PyArrow raises for files that cannot be read.
    """
    marks, hashed, population = np.zeros(max(1, min(above, _MARKS)), bool), above > _MARKS, min(above, 2 * rows)
    read, counts, ranges = [0], [0], list[tuple[int, int, int]]()
    for batch in _batches(paths, columns, rows):
        for name in columns:
            ids = batch[name].drop_null().cast(pa.int64()).to_numpy(zero_copy_only=False)
            marks[_hashes(ids) if hashed else ids % len(marks)] = True
            ranges += [(int(ids.min()), int(ids.max()), len(ids))] if len(ids) else []
        read.append(read[-1] + len(batch))
        counts.append(_number(int(np.count_nonzero(marks)), hashed))
    half = int(np.searchsorted(read, read[-1] / 2))
    if read[-1] >= rows or not read[half] < read[-1]:
        return min(population, counts[-1])
    if passes := _passes(ranges, paths, columns):
        return min(population, int(counts[-1] * rows / read[-1] / passes))
    return min(population, _extended((read[half], read[-1]), (counts[half], counts[-1]), rows, population))


def _batches(paths: Sequence[Path], columns: tuple[str, str], rows: int) -> Iterator[pa.RecordBatch]:
    """Rows from row groups evenly over the files, first of every second one; all rows if they are few."""
    groups = [(path, number, group.num_rows) for path in paths for number, group in enumerate(_groups(path))]
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


def _passes(ranges: list[tuple[int, int, int]], paths: Sequence[Path], columns: tuple[str, str]) -> float:
    """How often all rows go through the ids, as a multiple of the rows with these ranges; 0 if rows are in no such order."""
    groups = [_range(group, name) for path in paths for group in _groups(path) for name in columns]
    if None in groups:
        return 0
    (of_read, covered), (of_all, total) = (_covered(np.array(each, np.float64)) for each in (ranges, groups))
    return max(1.0, of_all / total * covered / of_read) if of_read / len(ranges) < total / _NARROW else 0


def _groups(path: Path) -> list[pq.RowGroupMetaData]:
    metadata = pq.read_metadata(path)
    return [metadata.row_group(number) for number in range(metadata.num_row_groups)]


def _range(group: pq.RowGroupMetaData, name: str) -> tuple[int, int, int] | None:
    """The smallest and the largest id of a column of a row group, and its rows; None if its footer does not say."""
    stated = [column.statistics for column in map(group.column, range(group.num_columns)) if column.path_in_schema == name]
    return (stated[0].min, stated[0].max, group.num_rows) if len(stated) == 1 and stated[0] and stated[0].has_min_max else None


def _covered(ranges: Array) -> tuple[float, float]:
    """The ids in ranges (float64 [N, 3]: first, last, rows), each as often as it is in one, and once.

    Ranges that are much wider for their rows than most do not count: in them one pass ends and the next begins.
    """
    first, last, rows = ranges[np.argsort(ranges[:, 0])].T
    wide = (last + 1 - first) / rows
    kept = wide <= _WIDE * np.median(wide)
    begin, end = first[kept], last[kept] + 1
    reached = np.concatenate([begin[:1], np.maximum.accumulate(end)[:-1]])
    return float((end - begin).sum()), float(np.maximum(0, end - np.maximum(begin, reached)).sum())


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
