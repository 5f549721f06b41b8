"""Run flows here and now: `python -m flows road-network conf/runs/new-york.toml [social-network RUN ...]`.

Where no Prefect server is configured, Prefect starts its embedded one, which ends with this process.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.store.manifest import Folder

FLOWS = ("road-network", "social-network", "reachability")
USAGE = f"usage: python -m flows FLOW RUN.toml [FLOW RUN.toml ...]\n  FLOW is {', '.join(FLOWS[:-1])} or {FLOWS[-1]}"


def main(arguments: list[str]) -> None:
    """Run pairs of a flow's name and a run's file, one after the other; the first that fails ends it with exit code 1."""
    names, runs = arguments[::2], arguments[1::2]
    if not runs or len(names) != len(runs) or not set(names) <= set(FLOWS):
        sys.exit(USAGE)
    from flows.reachability import reachability
    from flows.road_network import road_network
    from flows.social_network import social_network
    from pipeline.cli import summarise
    from pipeline.errors import GraphmillError

    flows: dict[str, Callable[[str], Folder]] = dict(zip(FLOWS, (road_network, social_network, reachability), strict=True))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    for name, run in zip(names, runs, strict=True):
        try:
            published = flows[name](run)
        except KeyboardInterrupt:
            sys.exit(128 + signal.SIGINT)
        except GraphmillError as error:
            sys.exit(f"{name}: {error}")
        summarise(published, published.path.parent.parent)


if __name__ == "__main__":
    main(sys.argv[1:])
