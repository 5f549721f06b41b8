"""The roofline of the operators: operations a second over operations a requested byte, below the rates that memories allow.

Williams, Waterman, Patterson: Roofline (2009), with a roof for each memory: Ilic, Pratas, Sousa: Cache-Aware Roofline Model
(2014), because a requested byte may be in a cache or in shared memory.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks.operators.tables import TITLES, Machine, OperatorRow

_TABLES = (6, 7, 8, 9, 10)
_IN_CACHE = "sequential reads of 4 bytes, in the cache"


def draw(folder: Path, rows: Iterable[OperatorRow], machine: Machine, shared_rate: float) -> None:
    """Write the machine's .png, on which every point is inside; `shared_rate`: bytes a second of all shared memories."""
    from matplotlib.figure import Figure

    rows = list(rows)
    points = {of: [row for row in rows if row.table == of and row.rate and row.ops and row.num_bytes] for of in _TABLES}
    roofs = {"copy of device memory": machine.copy_rate, "peak of device memory": machine.peak_rate or machine.copy_rate}
    in_cache = next((row.rate for row in rows if row.what == _IN_CACHE and row.rate), None)
    roofs |= {"second-level cache": in_cache or machine.copy_rate, "peak of shared memory": shared_rate}
    figure = Figure(figsize=(9, 5.5), layout="constrained")
    axes = figure.add_subplot()
    x = np.array([2**-6, 2.0**0])
    for name, rate in roofs.items():
        axes.plot(x, x * rate / 1e9, label=name, linewidth=1)
    for marker, (of, found) in zip("osv^D", points.items(), strict=True):
        intensity = [(row.ops or 0) / (row.num_bytes or 1) for row in found]
        done = [each * (row.rate or 0) / 1e9 for each, row in zip(intensity, found, strict=True)]
        axes.plot(intensity, done, marker, markersize=5, alpha=0.7, label=TITLES[of])
    axes.set(xscale="log", yscale="log", xlim=x, xlabel="operations a requested byte", ylabel="10^9 operations a second")
    axes.legend(fontsize=8)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{machine.file}.png", dpi=100)
