"""Reading a damaged table raises an error, or the manifest's check does. Wrong data never passes both.

Page checksums cover the pages but not the footer, and a truncated file has no footer; the manifest's SHA-256 covers every byte.
"""

import resource
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from pipeline.errors import Damaged
from pipeline.store import manifest
from pipeline.tables import files as tables
from tests.counts import NIGHTLY
from tests.faults.children import outcome

VERTICES = 400
GIB = 2**30


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One small table of random paths, with nulls in two columns."""
    random = np.random.default_rng(1)
    ids = random.integers(1, 2**40, VERTICES).cumsum()
    distance = pa.array(random.uniform(0, 1e6, VERTICES), mask=random.random(VERTICES) < 0.2)
    predecessor = pa.array(random.choice(ids, VERTICES), mask=random.random(VERTICES) < 0.2)
    table = pa.table([pa.array(np.full(VERTICES, ids[0])), pa.array(ids), distance, predecessor], tables.schema("sssp", "double"))

    def write(fresh):
        return {"rows": tables.write(fresh, "sssp", "double", table.to_batches())}

    return manifest.make(tmp_path_factory.mktemp("damage") / "sssp", "sssp", {}, {}, write)


def read_all(folder, damages):
    """Read the table after each damage; count errors, equal and different results. Fails if the manifest accepts one."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (address_space() + GIB, hard))
    (path,) = tables.files(folder.path)
    intact, expected = path.read_bytes(), tables.read(folder.path)
    counts = {"error": 0, "equal": 0, "different": 0}
    for damage in damages:
        path.unlink()  # faster than overwriting, which some file systems flush
        path.write_bytes(damage(intact))
        try:
            counts["equal" if tables.read(folder.path).equals(expected) else "different"] += 1
        except Exception:
            counts["error"] += 1
        try:
            manifest.check(folder)
        except Damaged:
            continue
        raise AssertionError(f"the manifest accepts the file after {sum(counts.values())} damages")
    path.write_bytes(intact)
    manifest.check(folder)
    return counts


def address_space():
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def size_of(folder):
    (entry,) = folder.manifest.files.values()
    return entry.bytes


def test_truncation_at_every_byte_is_an_error(folder):
    cuts = [lambda content, length=length: content[:length] for length in range(size_of(folder))]
    counts = outcome(lambda: read_all(folder, cuts))
    assert counts == {"error": len(cuts), "equal": 0, "different": 0}


def flip(bit):
    def damage(content):
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        return bytes(changed)

    return damage


@pytest.mark.sampled
def test_flipped_bits_are_detected(folder):
    bits = np.random.default_rng(2).choice(8 * size_of(folder), 5000 if NIGHTLY else 1500, replace=False)
    counts = outcome(lambda: read_all(folder, [flip(int(bit)) for bit in bits]))
    assert counts["error"] > 0.9 * len(bits), f"the page checksums miss too many: {counts}"


def test_overwritten_bytes_are_detected(folder):
    random = np.random.default_rng(3)

    def scribble(start, length):
        noise = random.bytes(length)
        return lambda content: content[:start] + noise + content[start + length :]

    damages = [scribble(int(random.integers(0, size_of(folder) - 64)), int(random.integers(8, 64))) for _ in range(1000)]
    counts = outcome(lambda: read_all(folder, damages))
    assert counts["error"] > 0.9 * len(damages), counts


def test_removed_and_repeated_bytes_are_detected(folder):
    random = np.random.default_rng(4)
    ends = np.sort(random.integers(0, size_of(folder), (500, 2)), axis=1)
    ends = ends[ends[:, 0] < ends[:, 1]].tolist()
    damages = [lambda content, a=a, b=b: content[:a] + content[b:] for a, b in ends]
    damages += [lambda content, a=a, b=b: content[:b] + content[a:] for a, b in ends]
    counts = outcome(lambda: read_all(folder, damages))
    assert counts["different"] == 0
    assert sum(counts.values()) == len(damages)
