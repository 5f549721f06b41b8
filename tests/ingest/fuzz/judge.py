"""Ingest an input and compare with the second reader, in a child process that may crash, hang or run out of memory."""

import logging
import os
import random
import resource
import shutil
import signal
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from pipeline.config.graph import GraphConfig
from pipeline.errors import BadInput
from pipeline.ingest import ingest
from pipeline.store.names import open_names
from tests.edge_lists import rows_of_edges
from tests.ingest.fuzz import mutations, oracle, programs, seeds, uses

CPU_SECONDS = 5.0  # of one input
MEMORY = 2**30  # bytes of one input
RESERVED = 64 * 2**30  # bytes of address space on top of what the child inherits


def made(number: int) -> tuple[str, bytes, bytes]:
    """The format of input `number`, the valid file that it is made from, and its content."""
    rng = random.Random(number)
    form = seeds.FORMATS[number % len(seeds.FORMATS)] if number % 3 else "parquet"
    if form == "parquet":
        content = seed = programs.parquet(rng) if number % 4 in (1, 2) else seeds.parquet(rng)
    else:
        content = seed = seeds.text(form, rng)
    if rng.random() < 0.9:
        if form == "parquet" and rng.random() < 0.7:
            content = mutations.repeated(mutations.of_footer, content, rng)
        else:
            change = mutations.of_text if form != "parquet" and rng.random() < 0.7 else mutations.of_bytes
            content = mutations.repeated(change, content, rng)
    if rng.random() < (0.1 if form == "parquet" else 0.4):
        pack = rng.choice(list(seeds.PACKED.values()))
        cut = rng.choice([len(content), rng.randrange(len(content) + 1)])
        content = pack(content[:cut]) + (pack(content[cut:]) if cut < len(content) else b"")
        if rng.random() < 0.3:
            content = mutations.of_bytes(content, rng)
    return ("auto" if rng.random() < 0.15 else form), seed, content


def verdict(form: str, seed: bytes, content: bytes, folder: Path) -> str:
    """`accepted` or `refused`, both rightly; anything else is a fault."""
    source, third = (
        folder / "source",
        form == "snap" and len(content) % 2 > 0 and len(seed[seed[:-1].rfind(b"\n") + 1 :].split()) == 3,
    )
    source.write_bytes(content)
    try:
        other = uses.fault(source, content, seed) if content.startswith(b"PAR1") else None
        if other:
            return other
        found = ingest(GraphConfig(source=str(source), format=form, columns={"weight": 3} if third else {}), folder / "work")
    except BadInput as error:
        left = list((folder / "work").glob("*"))
        if error.file != str(source) or left:
            return f"refused without its name, or leaves {left}"
        return "refused"
    except Exception:
        return "uncaught: " + traceback.format_exc()
    facts, pairs = found.facts, uses.pairs(source, open_names(found)) if content.startswith(b"PAR1") else None
    table = rows_of_edges(found)
    rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    shutil.rmtree(folder / "work")
    try:
        expected = oracle.read(source, facts["format"], seed, third, form == "auto")
    except oracle.Unread:
        return "accepted"
    except oracle.Refused as reason:
        return f"wrongly accepted: {reason}"
    if content.startswith(b"PAR1") and pairs != [row[:2] for row in rows]:
        return f"accepted, but wrong: pairs {str(pairs)[:100]} instead of {rows[:5]}"
    same = expected.rows == rows and (expected.weight is None) == (facts["weight"] is None)
    if facts["format"] != "parquet":
        same = same and (expected.weight, expected.directed, expected.vertices) == (
            facts["weight"], facts["directed"], facts["declared_vertices"]
        )  # fmt: skip
    return "accepted" if same else f"accepted, but wrong: {rows[:5]} {facts} instead of {str(expected)[:300]}"


def judged(numbers: Iterable[int], folder: Path) -> tuple[Counter[str], dict[int, str]]:
    """Count verdicts, and list the faults by number."""
    counts: Counter[str] = Counter()
    faults: dict[int, str] = {}
    waiting = list(numbers)
    while waiting:
        for number, found in _in_child(waiting, folder):
            waiting = waiting[waiting.index(number) + 1 :]
            kind = found if found in {"accepted", "refused"} else found.partition(":")[0]
            counts[kind] += 1
            if kind != found or found not in {"accepted", "refused"}:
                faults[number] = found
    return counts, faults


def judged_below(parent: Path, numbers: Iterable[int]) -> tuple[Counter[str], dict[int, str]]:
    """As `judged`, in a new folder of `parent`."""
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        return judged(numbers, Path(folder))


def _in_child(numbers: list[int], folder: Path) -> Iterator[tuple[int, str]]:
    """Verdicts of the numbers up to one that ends the child, which is reported as `slow` or `crashed`."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="backslashreplace", dir=folder) as answers:
        child = os.fork()
        if child == 0:
            try:
                logging.disable(logging.WARNING)
                _limit_memory()
                before = _most_held()
                for number in numbers:
                    form, seed, content = made(number)
                    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)  # its signal ends the process
                    found = verdict(form, seed, content, folder)
                    signal.setitimer(signal.ITIMER_PROF, 0)
                    if (held := _most_held()) > before + MEMORY:
                        found = f"large: {held - before} bytes"
                    before = held
                    answers.write(found.replace("\n", "\\n") + "\n")
                    answers.flush()
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        answers.seek(0)
        found = answers.read().split("\n")[:-1]
    yield from zip(numbers, found, strict=False)
    if len(found) < len(numbers):
        shutil.rmtree(folder / "work", ignore_errors=True)
        yield numbers[len(found)], f"{'slow' if status == signal.SIGPROF else 'crashed'}: status {status}"


def _most_held() -> int:
    """The most memory in bytes that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _limit_memory() -> None:
    """Limit what could be held before it is compared with `MEMORY`; threads reserve much that they do not use."""
    reserved = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (reserved + RESERVED, resource.getrlimit(resource.RLIMIT_AS)[1]))
