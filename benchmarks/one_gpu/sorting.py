"""Our radix sort beside CUB's on the keys that the project sorts: by CuPy (Thrust), and by cuda-cccl if it is installed.

`python -m benchmarks.one_gpu.sorting --out DIR` writes DIR/sorting.md. Each answer is compared with CuPy's before it is timed.
First calls are measured in processes of their own, with and without the caches of compiled code.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cupy as cp
import numpy as np

from benchmarks.one_gpu.timing import peak_bytes
from kernels.generators import ends, graph500

Sorted = tuple[Any, Any]
REPEATS = 7
SCALE = 24  # of the R-MAT graph whose arcs are sorted
FEW = 1000  # keys of a first call
STORED = "STORED_BUILDS"  # environment variable: folder in which `cub` keeps what it has compiled; it is a benchmark's shortcut


@dataclass(frozen=True)
class Case:
    """Keys that a part of the project sorts.

    Attributes:
        use: What is sorted.
        count: Keys.
        keys: Makes `count` keys, uint64; those of arcs have the tail in front.
        bits: First bit, and the bit behind the last one.
        value: Type of the values that move with the keys, or None.
    """

    use: str
    count: int
    keys: Callable[[int], Any]
    bits: tuple[int, int]
    value: type | None = None

    def inputs(self) -> Sorted:
        """The keys and their values, which are numbered."""
        return self.keys(self.count), None if self.value is None else cp.arange(self.count, dtype=self.value)


def cases(least: int = 0) -> list[Case]:
    """The largest and most frequent sorts; all counts are divided by 2^least."""
    tail_bits, head_bits = SCALE - 2, SCALE  # a range of the layout has a quarter of the tails
    arc_bits, tile_bits = (0, tail_bits + head_bits), (39, 49)
    part, whole, band, rows = (1 << scale - least for scale in (27, 28, 25, 24))

    def arcs(count: int) -> Any:
        tails, heads = (rows.astype(np.uint64) for rows in ends(graph500(head_bits), 0, count, cp))
        return (tails & np.uint64((1 << tail_bits) - 1)) << np.uint64(head_bits) | heads

    def grid(count: int) -> Any:
        cells = cp.arange(count, dtype=np.uint64) >> np.uint64(1)
        return cells << np.uint64(26) | cells + (cp.arange(count, dtype=np.uint64) & np.uint64(1))

    def by_head(count: int) -> Any:
        keys = arcs(count) & np.uint64((1 << head_bits) - 1)
        return keys << np.uint64(head_bits) | rising(count, SCALE - least)

    def rising(count: int, bits: int) -> Any:
        return cp.arange(count, dtype=np.uint64) * np.uint64(1 << bits) // np.uint64(count)

    def drawn(bits: int) -> Callable[[int], Any]:
        return lambda count: cp.random.default_rng(0).integers(0, 1 << bits, count).astype(np.uint64)

    def degrees(count: int) -> Any:
        return (20 / (cp.random.default_rng(0).random(count) + 2e-5)).astype(np.uint64)

    return [
        Case("layout, R-MAT", part, arcs, arc_bits),
        Case("layout, R-MAT, weights of 4 bytes", part, arcs, arc_bits, np.uint32),
        Case("layout, R-MAT, weights of 8 bytes", part, arcs, arc_bits, np.uint64),
        Case("layout, grid in order", part, grid, (0, 52)),
        Case("layout, by weights of 4 bytes", part, drawn(32), (0, 32), np.uint64),
        Case("layout, by weights of 8 bytes", part, drawn(62), (0, 64), np.uint64),
        Case("in-arcs", whole, by_head, (head_bits, 2 * head_bits)),
        Case("in-arcs, weights of 4 bytes", whole, by_head, (head_bits, 2 * head_bits), np.uint32),
        Case("rows by degree", rows, degrees, (0, 20), np.uint32),
        Case("PageRank, a band by tiles", band, drawn(tile_bits[1]), tile_bits),
        Case("PageRank, a band by rows", band, drawn(52), (32, 52)),
        Case("a batch of changes", 1 << 20, drawn(50), (0, 50), np.uint32),
        Case("a small batch of changes", 1 << 14, drawn(50), (0, 50), np.uint32),
    ]


def ours(keys: Any, values: Any, first_bit: int, end_bit: int) -> Sorted:
    """Our radix sort, whose kernels NVRTC compiles."""
    from kernels.gpu.radix_sort import sort

    return sort(keys, values, first_bit, end_bit)


def thrust(keys: Any, values: Any, first_bit: int, end_bit: int) -> Sorted:
    """CuPy's: all bits of words of 4 or 8 bytes; values and partly sorted keys are moved by a permutation of int64."""
    if values is None and first_bit == 0:
        keys.sort()
        return keys, None
    words = keys >> np.uint64(first_bit) if first_bit else keys
    order = cp.argsort(words.astype(np.uint32) if end_bit - first_bit <= 32 else words)
    return keys[order], None if values is None else values[order]


def cub(keys: Any, values: Any, first_bit: int, end_bit: int) -> Sorted:
    """CUB's device-wide sort of the given bits, which cuda-cccl compiles for the types of the arrays."""
    from cuda.compute import DoubleBuffer, SortOrder, deserialize, make_radix_sort, serialize

    both = DoubleBuffer(keys, cp.empty_like(keys)), None if values is None else DoubleBuffer(values, cp.empty_like(values))
    given = {"d_in_keys": both[0], "d_out_keys": None, "d_in_values": both[1], "d_out_values": None}
    stored = Path(os.environ.get(STORED, ""), f"{None if values is None else values.dtype}")
    if STORED in os.environ and stored.exists():
        sort = deserialize(stored.read_bytes())
    else:
        sort = make_radix_sort(**given, order=SortOrder.ASCENDING)
        if STORED in os.environ:
            stored.write_bytes(serialize(sort))
    given |= {"num_items": len(keys), "begin_bit": first_bit, "end_bit": end_bit}
    sort(temp_storage=cp.empty(sort(temp_storage=None, **given), np.uint8), **given)
    return both[0].current(), None if both[1] is None else both[1].current()


def ways() -> dict[str, Callable[..., Sorted]]:
    """The implementations that work here."""
    found: dict[str, Callable[..., Sorted]] = {"ours": ours, "thrust": thrust}
    try:
        cub(cp.arange(FEW, dtype=np.uint64), None, 0, 64)
    except Exception as error:  # not installed, or it does not compile: the others are measured
        traceback.print_exc()
        print(f"cuda-cccl is left out: {error!r}", file=sys.stderr)
    else:
        found["cub"] = cub
    return found


def equal(left: Sorted, right: Sorted) -> bool:
    """Whether keys and values are the same."""
    return all(one is two or bool(cp.array_equal(one, two)) for one, two in zip(left, right, strict=True))


def milliseconds(sort: Callable[..., Sorted], given: Sorted, bits: tuple[int, int]) -> list[float]:
    """Time of each sort of fresh copies, without the copying, after two that are not counted."""
    work = tuple(None if array is None else cp.empty_like(array) for array in given)
    times, start, end = [], cp.cuda.Event(), cp.cuda.Event()
    for _ in range(2 + REPEATS):
        for array, source in zip(work, given, strict=True):
            if array is not None:
                cp.copyto(array, source)
        cp.cuda.Device().synchronize()
        start.record()
        sort(*work, *bits)
        end.record()
        end.synchronize()
        times.append(float(cp.cuda.get_elapsed_time(start, end)))
    return times[2:]


def measured(case: Case, sorts: dict[str, Callable[..., Sorted]]) -> str:
    """A line of the table: median times, and peak memory beyond keys and values, relative to them."""
    given = case.inputs()
    size = sum(array.nbytes for array in given if array is not None)

    def copies() -> Sorted:
        return given[0].copy(), None if given[1] is None else given[1].copy()

    expected = thrust(*copies(), *case.bits)
    for name, sort in sorts.items():
        if not equal(sort(*copies(), *case.bits), expected):
            raise AssertionError(f"{case.use}: {name} sorts differently from CuPy")
    del expected
    times, peaks = {}, {}
    for name, sort in sorts.items():
        cp.get_default_memory_pool().free_all_blocks()
        times[name] = float(np.median(milliseconds(sort, given, case.bits)))
        cp.get_default_memory_pool().free_all_blocks()
        work = copies()
        peaks[name] = peak_bytes(lambda sort=sort, work=work: sort(*work, *case.bits)) / size
        del work
    value = 0 if case.value is None else np.dtype(case.value).itemsize
    cells = [case.use, f"{case.count:,}", f"{case.bits[0]}..{case.bits[1]}", f"{value}"]
    for name in sorts:
        ratio = "" if name == "ours" else f"{times[name] / times['ours']:.2f}"
        cells += [f"{times[name]:.3f}", *([ratio] if ratio else []), f"{peaks[name]:.2f}"]
    return f"| {' | '.join(cells)} |"


def first_calls(sorts: dict[str, Callable[..., Sorted]]) -> Iterator[str]:
    """Lines of a table: seconds of the first sorts of a process, with empty and with filled caches."""
    for name in [*sorts, *(["cub, serialized"] if "cub" in sorts else [])]:
        with tempfile.TemporaryDirectory() as home:
            caches = {"XDG_CACHE_HOME": home, "CUPY_CACHE_DIR": f"{home}/cupy", "HOME": home}
            caches |= {STORED: home} if "serialized" in name else {}
            try:
                seconds = [_first_call(name.split(",")[0], caches) for _ in range(3)]
            except RuntimeError as failure:
                print(failure, file=sys.stderr)
                yield f"| {name} | failed | |"
            else:
                yield f"| {name} | {seconds[0]:.2f} | {min(seconds[1:]):.2f} |"


def _first_call(name: str, environment: dict[str, str]) -> float:
    command = [sys.executable, "-m", "benchmarks.one_gpu.sorting", "--first", name]
    ended = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RuntimeError(f"the first call of {name} failed:\n{ended.stderr}")
    return float(ended.stdout)


def first(name: str) -> float:
    """Seconds of this process's first sorts with this implementation: keys alone, with values of 4 and of 8 bytes."""
    source = cp.asarray(np.arange(FEW, dtype=np.uint64)[::-1].copy())
    cp.cuda.Device().synchronize()
    start = time.perf_counter()
    for dtype in (None, np.uint32, np.uint64):
        globals()[name](source.copy(), None if dtype is None else source.astype(dtype), 0, 50)
    cp.cuda.Device().synchronize()
    return time.perf_counter() - start


def machine() -> str:
    """Where it is measured."""
    from importlib import metadata

    runtime = cp.cuda.runtime
    gpu = runtime.getDeviceProperties(cp.cuda.Device().id)["name"].decode()
    version = Path("/sys/module/nvidia/version")
    driver = version.read_text(encoding="ascii").strip() if version.exists() else str(runtime.driverGetVersion())
    packages = {each.name: each.version for each in metadata.distributions() if each.name in ("cuda-cccl", "cuda-core")}
    others = "".join(f", {name} {version}" for name, version in sorted(packages.items()))
    cuda = "{}.{}".format(*cp.cuda.nvrtc.getVersion())
    return f"{gpu}, driver {driver}, CUDA {cuda}, CuPy {cp.__version__}{others}."


def report(least: int) -> Iterator[str]:
    """The tables in Markdown."""
    sorts = ways()
    yield f"{machine()} Medians of {REPEATS} sorts in milliseconds; peak memory beyond keys and values, relative to them.\n"
    heads = [f"{name} | {'' if name == 'ours' else 'times ours | '}peak" for name in sorts]
    yield f"| keys of | number | bits | bytes of a value | {' | '.join(heads)} |"
    yield f"|---|{'---:|' * (3 + sum(2 + (name != 'ours') for name in sorts))}"
    for case in cases(least):
        yield measured(case, sorts)
        cp.get_default_memory_pool().free_all_blocks()
    yield f"\nSeconds of a process's first sorts of {FEW:,} keys: alone, with values of 4 and of 8 bytes.\n"
    yield "| | empty caches | filled caches |"
    yield "|---|---:|---:|"
    yield from first_calls(sorts)


def main() -> None:
    """Write the tables and print them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.one_gpu.sorting", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"), help="folder of sorting.md")
    parser.add_argument("--least", type=int, default=0, help="divide the numbers of large keys by 2^LEAST")
    parser.add_argument("--first", choices=["ours", "thrust", "cub"], help="print the seconds of the first sorts in this process")
    options = parser.parse_args()
    if options.first:
        print(first(options.first))
        return
    options.out.mkdir(parents=True, exist_ok=True)
    with (options.out / "sorting.md").open("w", encoding="utf-8") as file:
        for line in report(options.least):
            print(line, file=file, flush=True)
            print(line, flush=True)


if __name__ == "__main__":
    main()
