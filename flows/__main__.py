"""Run flows in this process: `python -m flows road-network conf/runs/new-york.toml [social-network RUN ...]`.

If no Prefect server is configured, the flow starts an embedded one (`flows/embedded.py`), which ends with this process.
"""

from __future__ import annotations

import signal
import sys

NAMES = ("road-network", "social-network", "reachability")  # without an import of Prefect, which takes seconds
USAGE = f"usage: python -m flows FLOW RUN.toml [FLOW RUN.toml ...]\n  FLOW is {', '.join(NAMES[:-1])} or {NAMES[-1]}"


def main(arguments: list[str]) -> None:
    """Run pairs of a flow's name and a run's file, one after the other; exit with code 1 at the first that fails."""
    names, runs = arguments[::2], arguments[1::2]
    if not runs or len(names) != len(runs) or not set(names) <= set(NAMES):
        sys.exit(USAGE)
    from flows.analytics import FLOWS
    from pipeline.cli import summarise
    from pipeline.errors import GraphmillError

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    for name, run in zip(names, runs, strict=True):
        try:
            published = FLOWS[name](run)
        except KeyboardInterrupt:
            sys.exit(128 + signal.SIGINT)
        except GraphmillError as error:
            sys.exit(f"{name}: {error}")
        summarise(published, published.path.parent.parent)


if __name__ == "__main__":
    main(sys.argv[1:])
