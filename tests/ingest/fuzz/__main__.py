"""The command `python -m tests.ingest.fuzz COUNT [FIRST]`."""

import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.ingest.fuzz.judge import judged, made

BATCH = 2000


def main(count: int, first: int = 0) -> None:
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for start in range(first, first + count, BATCH):
            counts, faults = judged(range(start, min(start + BATCH, first + count)), Path(folder))
            total += counts
            print(start, dict(total), flush=True)
            for number, fault in faults.items():
                print(f"  input {number}, {made(number)[0]}: {fault}", flush=True)
    if count == 1:
        Path(f"input-{first}").write_bytes(made(first)[2])


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
