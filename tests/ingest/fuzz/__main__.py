"""The command `python -m tests.ingest.fuzz COUNT [FIRST] [--processes N]`."""

import sys
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path

from tests.faults.children import options, parts_of, spread
from tests.ingest.fuzz.judge import judged_below, made

PART = 500  # inputs


def main(count: int, first: int, processes: int) -> int:
    """Judge so many inputs, print each fault when it is found and the counts at the end; return the number of faults."""
    parts = parts_of(count, PART, first)
    total: Counter[str] = Counter()
    found = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, (counts, faults) in enumerate(spread(partial(judged_below, Path(folder)), parts, processes), 1):
            total += counts
            found += len(faults)
            for fault, reason in faults.items():
                print(f"input {fault}, {made(fault)[0]}: {reason}", flush=True)
            if number * 100 // len(parts) > (number - 1) * 100 // len(parts):
                print(f"{total.total()} of {count} inputs: {dict(total)}", flush=True)
    if count == 1:
        Path(f"input-{first}").write_bytes(made(first)[2])
    return found


if __name__ == "__main__":
    parser = options("tests.ingest.fuzz", "inputs")
    parser.add_argument("first", type=int, nargs="?", default=0)
    sys.exit(main(**vars(parser.parse_args())) > 0)
