"""Measure how fast an OpenStreetMap file becomes a road network: `python -m benchmarks.runs.osm --help`.

Writes a synthetic extract, of which one way in five is a street and the others are buildings, and prints for each number of cores
the megabytes of PBF per second of step `edges`, on the clock and of all cores together, and the peak of memory for each byte.
"""

import argparse
import os
import resource
import struct
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from kernels.graph import Array
from pipeline.config.graph import GraphConfig
from pipeline.config.roads import OsmConfig
from pipeline.ingest import ingest

SEED = 38
PER_BLOCK, PER_WAY = 8000, 10
CLASSES = ("residential", "service", "track", "footway", "primary", "secondary", "tertiary", "unclassified", "path")
STRINGS = ("", "highway", "building", "yes", "name", "surface", "asphalt", "maxspeed", "50", *CLASSES)


def varints(values: Array) -> bytes:
    """Unsigned numbers as varints."""
    values = np.ascontiguousarray(values, np.uint64)
    lengths = np.maximum(1, -(-np.frexp(values.astype(np.float64))[1] // 7))
    ends = np.cumsum(lengths)
    place = np.arange(ends[-1]) - np.repeat(ends - lengths, lengths)
    groups = (np.repeat(values, lengths) >> (7 * place).astype(np.uint64)).astype(np.uint8) & 127
    groups[place < np.repeat(lengths, lengths) - 1] |= 128
    return groups.tobytes()


def one(value: int) -> bytes:
    """A single unsigned number as a varint: arrays would take longer."""
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def zigzag(values: Array) -> bytes:
    """Differences of signed numbers, as PBF has them."""
    steps = np.diff(values, prepend=0).astype(np.int64)
    return varints((steps << 1) ^ (steps >> 63))


def field(number: int, content: bytes | int) -> bytes:
    """A field of a protocol buffer."""
    if isinstance(content, int):
        return one(number << 3) + one(content)
    return one(number << 3 | 2) + one(len(content)) + content


def blob(kind: bytes, data: bytes) -> bytes:
    """A blob that is compressed by zlib."""
    content = field(2, len(data)) + field(3, zlib.compress(data))
    header = field(1, kind) + field(3, len(content))
    return struct.pack(">I", len(header)) + header + content


def extract(nodes: int) -> Iterator[bytes]:
    """The blobs of an extract with this many nodes, made by all cores."""
    features = field(4, b"OsmSchema-V0.6") + field(4, b"DenseNodes") + field(5, b"Sort.Type_then_ID")
    yield blob(b"OSMHeader", features)
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), get_context("spawn")) as processes:
        for of, count in ((_nodes_of, nodes), (_ways_of, nodes // PER_WAY - 1)):
            yield from processes.map(of, (range(first, min(first + PER_BLOCK, count)) for first in range(0, count, PER_BLOCK)))


def _nodes_of(block: range) -> bytes:
    """A blob of nodes; those of ten are on a path that begins anywhere."""
    random = np.random.default_rng([SEED, 0, block.start])
    ids = 3 * np.arange(block.start, block.stop) + 1
    begins = np.repeat(random.integers(460_000_000, 500_000_000, (2, -(-len(ids) // PER_WAY))), PER_WAY, axis=1)[:, : len(ids)]
    lat, lon = begins + random.integers(-3000, 3000, (2, len(ids))).cumsum(axis=1) % 100_000
    info = field(1, varints(np.ones(len(ids)))) + b"".join(
        field(number, zigzag(random.integers(0, most, len(ids))))
        for number, most in ((2, 10**8), (3, 10**5), (4, 10**4), (5, 10))
    )
    dense = field(1, zigzag(ids)) + field(5, info) + field(8, zigzag(lat)) + field(9, zigzag(lon))
    return blob(b"OSMData", field(1, field(1, b"")) + field(2, field(2, dense)))


def _ways_of(block: range) -> bytes:
    """A blob of ways, with the strings of their tags."""
    random = np.random.default_rng([SEED, 1, block.start])
    names = [f"Street {number}".encode() for number in block]
    strings = b"".join(field(1, text) for text in (*map(str.encode, STRINGS), *names))
    return blob(b"OSMData", field(1, strings) + field(2, b"".join(_ways(block.start, len(block), random))))


def _ways(first: int, count: int, random: np.random.Generator) -> Iterator[bytes]:
    classes = (len(STRINGS) - 1 - random.integers(0, len(CLASSES), count)).tolist()
    reach = random.integers(1, 6, count).tolist()  # a street ends where an earlier one begins
    for number in range(count):
        begin, is_street = 3 * PER_WAY * (first + number) + 1, number % 5 == 0
        end = max(1, begin - 3 * 5 * PER_WAY * reach[number]) if is_street else begin
        last = end - begin - 3 * (PER_WAY - 1)
        steps = [begin, *[3] * (PER_WAY - 1), last]
        refs = b"".join(one(2 * step if step >= 0 else -2 * step - 1) for step in steps)
        keys, values = ((1, 4, 5, 7), (classes[number], len(STRINGS) + number, 6, 8)) if is_street else ((2,), (3,))
        tags = field(2, b"".join(map(one, keys))) + field(3, b"".join(map(one, values)))
        yield field(3, field(1, first + number + 1) + tags + field(8, refs))


def measure(path: Path, cores: int) -> str:
    """A line of what reading a file takes on so many cores, behind a small file, for which all is compiled and imported."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    with tempfile.TemporaryDirectory() as name:
        small = Path(name) / "small.osm.pbf"
        with small.open("wb") as file:
            file.writelines(extract(10_000))
        _read(small, Path(name) / "small")
        used, started = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        arcs = _read(path, Path(name) / "large")
    after, seconds, size = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter() - started, path.stat().st_size
    processor = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
    peak = (after.ru_maxrss - used.ru_maxrss) * 1024 / size
    rates = f"{size / 1e6 / seconds:.1f} MB/s, {size / 1e6 / processor:.1f} MB per second of a core"
    return f"{size / 1e6:.0f} MB, {arcs:,} arcs, {cores} cores: {rates}, {peak:.1f} bytes of memory for each of the file"


def _read(path: Path, folder: Path) -> int:
    """The number of arcs of a file."""
    arcs: int = ingest(GraphConfig(source=str(path), osm=OsmConfig(profile="car")), folder).facts["edges"]
    return arcs


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the options ask for."""
    whole = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(prog="python -m benchmarks.runs.osm", description=__doc__)
    parser.add_argument("--nodes", type=int, default=50_000_000, help="of the extract (default: 50 million)")
    parser.add_argument("--cores", type=int, action="append", help=f"to use, one after the other (default: {whole})")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "large.osm.pbf"
        with path.open("wb") as file:
            file.writelines(extract(options.nodes))
        for cores in options.cores or [whole]:
            with ProcessPoolExecutor(1, get_context("spawn")) as process:
                print(process.submit(measure, path, cores).result(), flush=True)


if __name__ == "__main__":
    main()
