"""Run flows here and now: `python -m flows road-network conf/runs/new-york.toml [social-network RUN ...]`.

Where no Prefect server is configured, Prefect starts its embedded one, which ends with this process.
"""

from __future__ import annotations

import signal
import sys

from flows.road_network import road_network
from flows.social_network import social_network
from pipeline.cli import summarise
from pipeline.errors import GraphmillError

FLOWS = {"road-network": road_network, "social-network": social_network}
USAGE = f"usage: python -m flows FLOW RUN.toml [FLOW RUN.toml ...]\n  FLOW is {' or '.join(FLOWS)}"


def main(arguments: list[str]) -> None:
    """Run pairs of a flow's name and a run's file, one after the other; the first that fails ends it with exit code 1."""
    flows, runs = arguments[::2], arguments[1::2]
    if not runs or len(flows) != len(runs) or not set(flows) <= set(FLOWS):
        sys.exit(USAGE)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    for flow, run in zip(flows, runs, strict=True):
        try:
            published = FLOWS[flow](run)
        except KeyboardInterrupt:
            sys.exit(128 + signal.SIGINT)
        except GraphmillError as error:
            sys.exit(f"{flow}: {error}")
        summarise(published, published.path.parent.parent)


if __name__ == "__main__":
    main(sys.argv[1:])
