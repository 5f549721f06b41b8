"""Compare `graphmill estimate` with real runs, for every stage, product and table: `python -m benchmarks.runs.rates --help`.

On the CPU a run has one core, and what counts are CPU seconds: they are the seconds of a quiet core, whatever else runs. Each
line has what was asked, its seconds and memory, and those of the estimate: a whole run with the default stages, and a run that
has the graph already and makes one step more. On a GPU there are whole runs only, with wall time. Fitted rates follow, as
`pipeline.inspection.rates` and the registries have them. The exit status is 1 if an estimate is farther from its run than
`FACTORS`, which docs/operations.md states.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
from scipy.optimize import nnls

from benchmarks.runs.measure import Usage, run
from benchmarks.runs.rate_cases import FIRST, RateCase, cases
from pipeline.config.loading import run_config
from pipeline.inspection.estimate import estimate
from pipeline.inspection.runs import bytes_of
from pipeline.inspection.seconds import HIERARCHY
from pipeline.registry.products import PRODUCTS

FACTORS = {"seconds": 2.0, "memory": 2.0, "disk": 2.5, "GPU memory": 2.5}
LEAST = 0.15  # seconds below which a step counts as this: its noise
WHOLE = "whole run"
HEAD = "| graph | what | seconds | estimated | times | MB | estimated | times |\n|---|---|---:|---:|---:|---:|---:|---:|"


@dataclass
class Figure:
    """What a run or a step of it took, and its estimate."""

    case: str
    what: str
    taken: dict[str, float]
    expected: dict[str, float]
    size: tuple[float, float, float] = (1.0, 0.0, 0.0)  # 1, vertices and arcs in millions

    @property
    def times(self) -> dict[str, float]:
        """The estimates over what was taken."""
        found = {}
        for what, expected in self.expected.items():
            least = LEAST if what == "seconds" and self.what != WHOLE else 1e-9
            found[what] = max(expected, least) / max(self.taken[what], least)
        return found

    @property
    def is_far(self) -> bool:
        """Whether one of them is beyond its factor."""
        return any(not 1 / FACTORS[what] < times < FACTORS[what] for what, times in self.times.items())

    def line(self) -> str:
        """A row of the table; further figures follow in words."""
        cells = [self.case, f"{self.what}{' !' if self.is_far else ''}"]
        for what, unit in (("seconds", 1.0), ("memory", 1e6)):
            form = ".2f" if unit == 1 else ",.0f"
            known = what in self.times
            cells += [f"{amount[what] / unit:{form}}" if known else "" for amount in (self.taken, self.expected)]
            cells.append(f"{self.times[what]:.2f}" if known else "")
        more = [f"{what} {times:.2f} times" for what, times in self.times.items() if what not in ("seconds", "memory")]
        return f"| {' | '.join(cells)} |" + (f" <!-- {', '.join(more)} -->" if more else "")


def run_once(folder: Path, keys: dict[str, Any]) -> tuple[Usage, dict[str, Any]]:
    """Run a configuration in a process of its own; what it used, and what `benchmarks.runs.one_run` says."""
    (folder / "run.json").write_text(json.dumps(keys), encoding="utf-8")
    used = run(["-m", "benchmarks.runs.one_run", str(folder / "run.json")], folder.parent / "log")
    return used, json.loads(used.output)


def compared(case: RateCase, folder: Path, only: set[str]) -> Iterator[Figure]:
    """A whole run, and each step alone, on the CPU."""
    keys = {"graph": case.write(folder), "output": str(folder / "out"), "backend": "cpu", "keep": 1}
    if not only or WHOLE in only:
        yield whole(case, folder, keys)
    keys |= {"arcs": False}
    run_once(folder, keys | {"stages": [FIRST]})
    stepped = set[str]()
    for step, asked in case.asked(folder):
        if only and step not in only:
            continue
        config = keys | asked
        name = "bare" if step == FIRST else step  # which would else be there
        config |= {"output": str(folder / "bare")} if step == FIRST else {}
        expected = estimate(run_config(name, **config | {"output": str(folder / "empty")}))
        shutil.rmtree(Path(config["output"]) / "steps" / step, ignore_errors=True)  # if another run has made it
        used, found = run_once(folder, config)
        taken = found["seconds"].get(step, 0.0)
        swept = HIERARCHY in expected.seconds and step in PRODUCTS
        if swept and not stepped:  # the first product builds the hierarchy, and the second one has it
            shutil.rmtree(folder / "out" / "steps" / step)
            _, again = run_once(folder, config)
            built, taken = taken - again["seconds"][step], again["seconds"][step]
            yield Figure(case.name, HIERARCHY, {"seconds": built}, {"seconds": expected.seconds[HIERARCHY]}, _size(found))
        if swept:
            stepped.add(step)
        wanted = {"seconds": expected.seconds[step]}
        wanted |= {"memory": float(expected.memory.steps[step])} if step in expected.memory.steps else {}
        yield Figure(case.name, step, {"seconds": taken, "memory": float(used.peak)}, wanted, _size(found))


def whole(case: RateCase, folder: Path, keys: dict[str, Any], seconds_of: str = "cpu") -> Figure:
    """A run with the default stages, in a folder that is empty."""
    keys = keys | {"output": str(folder / "whole")}
    found = estimate(run_config("whole", **keys))
    ended, on_gpu = Event(), [0]
    watcher = Thread(target=watch_gpu, args=(ended, on_gpu))
    if keys["backend"] == "gpu":
        watcher.start()
    used, said = run_once(folder, keys)
    ended.set()
    taken = {"seconds": getattr(used, seconds_of), "memory": used.peak, "disk": bytes_of(folder / "whole")}
    taken["GPU memory"] = max(on_gpu) - on_gpu[0]
    expected = {"seconds": found.total} | {need.what: float(need.needed) for need in found.needs}
    return Figure(case.name, WHOLE, taken, expected, _size(said))


def watch_gpu(ended: Event, used: list[int]) -> None:
    """Collect the bytes in use on the first GPU until `ended`."""
    query = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    with suppress(OSError):
        while not ended.wait(0.05):
            used.append(int(subprocess.run(query, capture_output=True, text=True, check=True).stdout.split()[0]) * 2**20)


def _size(found: dict[str, Any]) -> tuple[float, float, float]:
    return 1.0, found["vertices"] / 1e6, found["arcs"] / 1e6


def fitted(figures: list[Figure]) -> Iterator[str]:
    """Lines with rates that fit the seconds of each step."""
    for step in dict.fromkeys(figure.what for figure in figures):
        some = [figure for figure in figures if figure.what == step]
        seconds = np.array([figure.taken["seconds"] for figure in some])
        weights = 1 / np.maximum(seconds, 0.05)
        rates, _ = nnls(np.array([figure.size for figure in some]) * weights[:, None], seconds * weights)
        yield f'"{step}": ({", ".join(f"{rate:.3g}" for rate in rates)}),'


def measured(some: list[RateCase], around: Path, backend: str, only: set[str]) -> Iterator[Figure]:
    """The figures of some graphs, which are printed."""
    for number, case in enumerate([some[0], *some]):
        folder = around / str(number)
        folder.mkdir()
        if not number:  # Python and Numba compile what they have not compiled yet
            whole(case, folder, {"graph": case.write(folder), "backend": backend})
            continue
        if backend == "cpu":
            made = compared(case, folder, only)
        else:
            made = iter([whole(case, folder, {"graph": case.write(folder), "backend": backend}, "wall")])
        for figure in made:
            print(figure.line(), flush=True)
            yield figure
        shutil.rmtree(folder)


def main() -> None:
    """Print a line for each run and step, then the fitted rates."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.runs.rates", description=__doc__)
    parser.add_argument("--backend", choices=("cpu", "gpu"), default="cpu", help="where the runs compute (default: cpu)")
    parser.add_argument("--scale", type=int, default=17, help="of the Kronecker graph (default: 17)")
    parser.add_argument("--side", type=int, default=300, help="of the grids (default: 300)")
    parser.add_argument("--graphs", default="", help="names of graphs to run, separated by semicolons (default: all)")
    parser.add_argument("--steps", default="", help="names of steps to run, separated by commas (default: all)")
    asked = parser.parse_args()
    if asked.backend == "cpu":
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    print(HEAD, flush=True)
    with tempfile.TemporaryDirectory() as name:
        some = [case for case in cases(asked.scale, asked.side) if not asked.graphs or case.name in asked.graphs.split(";")]
        figures = [*measured(some, Path(name), asked.backend, {*filter(None, asked.steps.split(","))})]
    print(*fitted(figures), sep="\n")
    sys.exit(any(figure.is_far for figure in figures))


if __name__ == "__main__":
    main()
