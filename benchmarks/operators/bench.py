"""`make bench-abstractions`: the graph operators on one GPU, beside hand-written kernels and cuGraph."""

import argparse
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import cupy as cp

from benchmarks.one_gpu import peers
from benchmarks.one_gpu.bench import driver
from benchmarks.one_gpu.timing import copy_bandwidth
from benchmarks.operators import abstractions, roofline
from benchmarks.operators.energy import Meter, cpu_joules
from benchmarks.operators.groups import WITHOUT_GRAPH, Group, Portion, groups
from benchmarks.operators.tables import Machine, OperatorRow, failure, merge, read, write

_INTERRUPTED = 130  # the status of a command that SIGINT has ended


def machine() -> Machine:
    """The current GPU."""
    version = "{}.{}".format(*cp.cuda.nvrtc.getVersion())
    name = cp.cuda.runtime.getDeviceProperties(cp.cuda.Device().id)["name"].decode()
    return Machine(
        name, driver(), version, cp.__version__, peers.start(), copy_bandwidth(), Meter().peak_rate(), cpu_joules() is not None
    )


def shared_rate() -> float:
    """Bytes a second of all shared memories: 128 a cycle for each multiprocessor, at the highest clock."""
    attributes = cp.cuda.Device().attributes
    kilohertz: int = attributes["ClockRate"]
    return 128e3 * kilohertz * attributes["MultiProcessorCount"]


def main(arguments: list[str] | None = None) -> None:
    """Measure, and add to the tables after each part, also when interrupted. What fails is a row that says why."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.operators.bench", description=__doc__)
    parser.add_argument("--graphs", type=Path, help="folder of further graphs, of which cnr-2000 is used")
    parser.add_argument("--only", action="append", default=[], metavar="GROUP", help="a group of rows; may be repeated")
    parser.add_argument("--list", action="store_true", help="print the groups and the seconds that they take, and end")
    parser.add_argument("--seconds", type=float, default=480, help="begin no other part after so many (default: 480)")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"), help="folder to whose tables rows are added")
    chosen = parser.parse_args(arguments)
    offered = groups(chosen.graphs)
    if unknown := [name for name in chosen.only if name not in offered]:
        parser.error(f"--only {unknown[0]!r} is none of {', '.join(map(repr, offered))}")
    named = {name: group for name, group in offered.items() if not chosen.only or name in chosen.only}
    for name, group in named.items():
        print(f"{name!r}: about {group.seconds} s", file=sys.stderr)
    print(f"about {sum(group.seconds for group in named.values())} s in all", file=sys.stderr, flush=True)
    if not chosen.list:
        sys.exit(_measured(named, chosen.out, chosen.seconds))


def _measured(named: dict[str, Group], out: Path, seconds: float) -> int:
    """Measure; return the status of the command."""
    for number in (signal.SIGINT, signal.SIGTERM):  # which children of a shell may ignore
        signal.signal(number, signal.default_int_handler)
    start, left = time.monotonic(), [*named]
    new = [*abstractions.calls()] if WITHOUT_GRAPH in named else []  # before cuGraph, with which a call takes twice the time
    where, shared, interrupted = machine(), shared_rate(), False
    old, where = read(out, where)
    try:
        for name, group in named.items():
            for part in _parts(name, group):
                if time.monotonic() - start > seconds:
                    break
                for row in _rows(part):
                    new.append(row)
                    print(f"{time.monotonic() - start:.0f} s: {_line(row)}", file=sys.stderr, flush=True)
                write(out, merge(old, new), where)
            else:
                left.remove(name)
    except KeyboardInterrupt:
        interrupted = True
    new += _rows(Portion(11, "", abstractions.kernels))
    write(out, merge(old, new), where)
    roofline.draw(out, merge(old, new), where, shared)
    if failed := [f"{row.graph}: {row.what}" for row in new if row.failed]:
        print(f"failed: {'; '.join(failed)}", file=sys.stderr)
    if left:
        print(f"not measured, or not to the end: {', '.join(map(repr, left))}", file=sys.stderr)
    return _INTERRUPTED if interrupted else int(bool(failed or left))


def _parts(name: str, group: Group) -> Iterator[Portion]:
    """The parts of a group; a last one fails where the group's graph cannot be made."""
    try:
        yield from group.parts()
    except Exception as error:
        row = failure(2, name, "the graph", error)
        yield Portion(2, name, lambda: iter([row]))


def _rows(part: Portion) -> Iterator[OperatorRow]:
    """The rows of a part; a last one says so where it ends by an error."""
    try:
        yield from part.rows()
    except Exception as error:
        yield failure(part.table, part.graph, "the other rows of this part", error)
    cp.get_default_memory_pool().free_all_blocks()


def _line(row: OperatorRow) -> str:
    what = f"{row.times.median:.4g} ms" if row.times else f"failed: {row.failed}" if row.failed else row.note
    return f"{row.graph}: {row.what} {what}"


if __name__ == "__main__":
    main()
