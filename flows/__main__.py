"""Run flows in this process: `python -m flows road-network conf/runs/new-york.toml [social-network RUN ...]`.

If no Prefect server is configured, the flow starts an embedded one (`flows/embedded.py`), which ends with this process. On a
configured server `python -m flows deploy` sets up deployments, `start` runs one, and `pause` waits until none runs.
"""

import sys
from functools import partial
from pathlib import Path

from pipeline.cli.ending import run_command
from pipeline.signals import cleaned

NAMES = ("road-network", "social-network", "reachability", "graph-changes")  # without an import of Prefect, which takes seconds
USAGE = f"""usage: python -m flows FLOW RUN.toml [FLOW RUN.toml ...]
       python -m flows deploy [DEPLOYMENTS.yaml] [--notify ADDRESS.txt]
       python -m flows pause [DEPLOYMENTS.yaml]
       python -m flows start FLOW/DEPLOYMENT [NAME=VALUE ...]
  FLOW is {", ".join(NAMES[:-1])} or {NAMES[-1]}"""


def main(arguments: list[str]) -> None:
    """Do what USAGE says, and end the process; of several runs, with code 1 at the first that fails."""
    names, runs = arguments[::2], arguments[1::2]
    if arguments[:1] == ["deploy"] and (files := _files(arguments[1:])):
        run_command("flows", partial(_deploy, *files))
    elif arguments[:1] == ["pause"] and (files := _files(arguments[1:])) and not files[1]:
        run_command("flows", partial(_pause, files[0]))
    elif arguments[:1] == ["start"] and len(arguments) > 1 and "/" in arguments[1]:
        run_command("flows", partial(_start, arguments[1], arguments[2:]))
    elif runs and len(names) == len(runs) and set(names) <= set(NAMES):
        run_command("flows", partial(_work, names, runs))
    sys.exit(USAGE)


def _files(arguments: list[str]) -> tuple[Path, Path | None] | None:
    """The files of `deploy`: the deployments, and the address of notifications."""
    notify = None
    if "--notify" in arguments[:-1]:
        position = arguments.index("--notify")
        notify = Path(arguments[position + 1])
        arguments = arguments[:position] + arguments[position + 2 :]
    if len(arguments) > 1 or any(argument.startswith("-") for argument in arguments):
        return None
    return Path(arguments[0] if arguments else "prefect.yaml"), notify


def _deploy(file: Path, notify: Path | None) -> None:
    from flows.deployments import deploy

    deploy(file, notify)


def _pause(file: Path) -> None:
    from flows.deployments import pause

    pause(file)


def _start(name: str, arguments: list[str]) -> None:
    from flows.parameters import parameters_of
    from flows.starting import start

    start(name, parameters_of(arguments))


def _work(names: list[str], runs: list[str]) -> None:
    from prefect.events.worker import EventsWorker
    from prefect.logging.handlers import APILogWorker

    from flows.analytics import FLOWS
    from pipeline.cli.output import summarise

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
