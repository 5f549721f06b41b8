"""The command `python -m tests.ingest.fuzz COUNT [FIRST] [--processes N]`."""

import argparse
import multiprocessing
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from tests.ingest.fuzz.judge import judged_below, made

BATCH = 500  # inputs that a process judges at a time


def main(count: int, first: int, processes: int) -> int:
    """Judge so many inputs, print each fault when it is found and the counts at the end; return the number of faults."""
    batches = [range(start, min(start + BATCH, first + count)) for start in range(first, first + count, BATCH)]
    total: Counter[str] = Counter()
    found = 0
    spawned = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(processes, spawned) as pool:
        for number, (counts, faults) in enumerate(pool.map(partial(judged_below, Path(folder)), batches), 1):
            total += counts
            found += len(faults)
            for fault, reason in faults.items():
                print(f"input {fault}, {made(fault)[0]}: {reason}", flush=True)
            if number * 20 // len(batches) > (number - 1) * 20 // len(batches):
                print(f"{total.total()} of {count} inputs: {dict(total)}", flush=True)
    if count == 1:
        Path(f"input-{first}").write_bytes(made(first)[2])
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.ingest.fuzz")
    parser.add_argument("count", type=int)
    parser.add_argument("first", type=int, nargs="?", default=0)
    parser.add_argument("--processes", type=int, default=1)
    sys.exit(main(**vars(parser.parse_args())) > 0)
