"""Compare road networks with independent routers: `python -m benchmarks.roads.bench EXTRACT... --help`.

For each arc the router is asked for the way along it, and for pairs of vertices for a shortest path. Lengths are those of
graphmill's arcs: a router's path must never be shorter over streets that are open here. Differences are counted by their class.
"""

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import numpy as np

from benchmarks.roads.classes import OTHER, why_closed, why_refused
from benchmarks.roads.comparing import RouterComparison, RouterFindings
from benchmarks.roads.ours import Ours
from benchmarks.roads.ways import Ways
from pipeline.config.roads import OsmConfig

SEED, PER_SOURCE = 38, 100
ROUTERS = {"valhalla": ("valhalla", "Valhalla"), "routino": ("routino", "Routino"), "osmnx": ("networkx", "OsmNx")}
# Where a router's own choice of classes differs from the profile's, the profile's is changed: it takes all tracks.
SPEEDS = {("valhalla", "car"): {"track": 10.0}}


def compare(extract: Path, router: str, profile: str, pairs: int, arcs: int, turns: bool) -> tuple[RouterFindings, Ways, str]:
    """What is found on one extract, its ways, and the router's name and version."""
    ways = Ways.of(extract)
    osm = OsmConfig.model_validate({"profile": profile, "weight": "distance", "speeds": SPEEDS.get((router, profile), {})})
    ours = Ours(extract, osm, ways, turns)
    module, name = ROUTERS[router]
    with tempfile.TemporaryDirectory() as folder:
        other = getattr(import_module(f"benchmarks.roads.{module}"), name)(extract, profile, Path(folder), turns)
        comparison = RouterComparison(ways, ours, other)
        random = np.random.default_rng(SEED)
        comparison.arcs([ours.arcs[at] for at in random.permutation(len(ours.arcs))[:arcs].tolist()])
        for source in random.integers(0, len(ours.vertices), max(1, pairs // PER_SOURCE)).tolist():
            targets = random.integers(0, len(ours.vertices), min(PER_SOURCE, pairs))
            for target, path in zip(targets.tolist(), ours.paths(source, targets), strict=True):
                comparison.pair(int(ours.vertices[source]), int(ours.vertices[target]), path)
    return comparison.found, ways, f"{other.name} {other.version}"


def lines(found: RouterFindings, ways: Ways, profile: str) -> list[str]:
    """The counts, and the differences by their class with an example each."""
    written = [f"{count:7,} {text}" for text, count in sorted(found.counts.items())]
    for title, parts, why in (
        ("parts of graphmill's paths that the router does not take", found.refused, why_refused),
        ("steps that the router takes and graphmill does not", found.closed, why_closed),
    ):
        counts, examples = Counter[str](), dict[str, tuple[int, ...]]()
        for part in parts:
            counts[why(part, ways, profile)] += 1
            examples[why(part, ways, profile)] = part
        written.append(f"{sum(counts.values()):7,} {title}")
        for text, count in counts.most_common():
            way = next(iter(ways.steps.get(examples[text][:2], ["-"])))
            written.append(f"    {count:7,} {text} (way {way}{', nodes ' + str(examples[text][:4]) if text == OTHER else ''})")
    written += [f"FAULT: the router has a shorter path from {source} to {target}" for source, target in found.shorter[:10]]
    return written


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare what the options ask for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.roads.bench", description=__doc__)
    parser.add_argument("extracts", nargs="+", type=Path, metavar="EXTRACT", help="files of OpenStreetMap")
    parser.add_argument("--router", action="append", choices=ROUTERS, help="may be repeated (default: all)")
    parser.add_argument("--profile", action="append", choices=("car", "bicycle", "foot"), help="may be repeated (default: all)")
    parser.add_argument("--pairs", type=int, default=10_000, help="of vertices, for each (default: %(default)s)")
    parser.add_argument("--arcs", type=int, default=10**9, help="asked one by one (default: all)")
    parser.add_argument("--turns", action="store_true", help="both obey turn restrictions")
    options = parser.parse_args(arguments)
    for extract in options.extracts:
        for router in options.router or ROUTERS:
            for profile in options.profile or ("car", "bicycle", "foot"):
                started = time.perf_counter()
                found, ways, name = compare(extract, router, profile, options.pairs, options.arcs, options.turns)
                print(f"{extract.name}, {profile}, {name}: {time.perf_counter() - started:.0f} s")
                print("\n".join(lines(found, ways, profile)), flush=True)


if __name__ == "__main__":
    main()
