"""Run flows in this process: `python -m flows road-network conf/runs/new-york.toml [social-network RUN ...]`.

If no Prefect server is configured, the flow starts an embedded one (`flows/embedded.py`), which ends with this process.
"""

import sys
from functools import partial

from pipeline.ending import run_command
from pipeline.signals import cleaned

NAMES = ("road-network", "social-network", "reachability")  # without an import of Prefect, which takes seconds
USAGE = f"usage: python -m flows FLOW RUN.toml [FLOW RUN.toml ...]\n  FLOW is {', '.join(NAMES[:-1])} or {NAMES[-1]}"


def main(arguments: list[str]) -> None:
    """Run pairs of a flow's name and a run's file, one after the other; end the process, with code 1 at the first that fails."""
    names, runs = arguments[::2], arguments[1::2]
    if not runs or len(names) != len(runs) or not set(names) <= set(NAMES):
        sys.exit(USAGE)
    run_command("flows", partial(_work, names, runs))


def _work(names: list[str], runs: list[str]) -> None:
    from prefect.events.worker import EventsWorker
    from prefect.logging.handlers import APILogWorker

    from flows.analytics import FLOWS
    from pipeline.command import summarise

    def drain() -> None:
        """Send what is still to be sent to the server, which may end with this process."""
        for worker in (APILogWorker, EventsWorker):
            worker.drain_all(timeout=10)

    with cleaned(drain):
        for name, run in zip(names, runs, strict=True):
            published = FLOWS[name](run)
            summarise(published, published.path.parent.parent)


if __name__ == "__main__":
    main(sys.argv[1:])
