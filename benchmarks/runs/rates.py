"""Compare `graphmill estimate` with real runs, and fit its rates: `python -m benchmarks.runs.rates --help`.

Prints each estimate with what the run took, and rates fitted to the runs, as `pipeline.inspection.rates` and the registry have
them. The exit status is 1 if an estimate is farther from its run than `FACTORS`, which docs/operations.md states.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pyarrow.csv
import pyarrow.parquet as pq
from scipy.optimize import nnls

from benchmarks.runs import sources
from benchmarks.runs.measure import run
from kernels.registry import ALGORITHMS, BY_NAME
from pipeline.config.loading import run_config
from pipeline.inspection.estimate import estimate
from pipeline.inspection.runs import bytes_of
from pipeline.registry.stages import STAGES
from pipeline.store.facts.run import RunFacts
from pipeline.store.manifest import read

FACTORS = {"seconds": 4.0, "memory": 2.5, "disk": 2.5, "GPU memory": 2.5}
# A step to the stage that it belongs to.
MADE_FROM = {table.name: name for name, stage in STAGES.items() for table in stage.tables}
MADE_FROM |= {f"{name}_index": name for name, algorithm in BY_NAME.items() if algorithm.has_index}


def cases(folder: Path, scale: int, side: int) -> Iterator[tuple[str, Path, list[str]]]:
    """A name, a source, and the options of its runs."""
    for number in (scale - 3, scale):
        skewed = folder / f"kronecker-{number}.parquet"
        sources.write_parquet(sources.kronecker(number), skewed)
        yield skewed.stem, skewed, []
    text = folder / "text.csv"
    pyarrow.csv.write_csv(pq.read_table(folder / f"kronecker-{scale - 3}.parquet"), text)
    yield f"kronecker-{scale - 3} as CSV", text, []
    for number in (side // 3, side):
        square = folder / f"grid-{number}.parquet"
        sources.write_parquet(sources.grid(number), square)
        yield square.stem, square, ["--undirected"]


def watch_gpu(ended: Event, used: list[int]) -> None:
    """Collect the bytes in use on the first GPU until `ended`."""
    query = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    with suppress(OSError):
        while not ended.wait(0.05):
            used.append(int(subprocess.run(query, capture_output=True, text=True, check=True).stdout.split()[0]) * 2**20)


def seconds_of(facts: RunFacts) -> dict[str, float]:
    """Seconds by stage, with its proof and what is made from it, and by other step."""
    found: dict[str, float] = {}
    for step, taken in facts.steps.items():
        name = step.removeprefix("proof-")
        name = MADE_FROM.get(name, name)
        found[name] = found.get(name, 0.0) + taken.seconds
    return found


def main() -> None:
    """Print a line for each figure of each run, then the fitted rates."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.runs.rates", description=__doc__)
    parser.add_argument("--backend", choices=("cpu", "gpu"), default="cpu", help="where the runs compute (default: cpu)")
    parser.add_argument("--scale", type=int, default=19, help="of the largest Kronecker graph (default: 19)")
    parser.add_argument("--side", type=int, default=1500, help="of the largest grid (default: 1500)")
    asked = parser.parse_args()
    far, amounts, taken = False, list[tuple[float, float, float]](), list[dict[str, float]]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for case, source, options in cases(folder, asked.scale, asked.side):
            out = folder / f"out {case}"
            graph = {"source": str(source), "directed": False if options else None}
            found = estimate(run_config(case, graph=graph, output=out, backend=asked.backend))
            ended, on_gpu = Event(), [0]
            command = ["-m", "pipeline.cli", "run", str(source), *options, "--backend", asked.backend, "--out"]
            if not taken:
                run([*command, str(folder / "compiled")], folder / "log")
            watcher = Thread(target=watch_gpu, args=(ended, on_gpu))
            watcher.start()
            used = run([*command, str(out)], folder / "log")
            ended.set()
            watcher.join()
            facts = RunFacts.of(read((out / "latest").resolve()))
            real = {"seconds": used.wall, "memory": used.peak, "disk": bytes_of(out), "GPU memory": max(on_gpu) - on_gpu[0]}
            for what, figure in [("seconds", found.total), *((need.what, need.needed) for need in found.needs)]:
                ratio = figure / max(real[what], 1e-9)
                far |= not 1 / FACTORS[what] < ratio < FACTORS[what]
                print(f"{case}: {what} {real[what]:,.1f}, estimated {figure:,.1f}, {ratio:.2f} times", flush=True)
            amounts.append((1.0, facts.graph.vertices / 1e6, facts.graph.arcs / 1e6))
            taken.append(seconds_of(facts))
    for step in ("edges", "graph", *(algorithm.name for algorithm in ALGORITHMS), "report"):
        weights = 1 / np.maximum([seconds[step] for seconds in taken], 0.05)
        fitted, _ = nnls(np.array(amounts) * weights[:, None], [seconds[step] for seconds in taken] * weights)
        print(f'"{step}": ({", ".join(f"{rate:.3g}" for rate in fitted)}),')
    sys.exit(far)


if __name__ == "__main__":
    main()
