"""Run a configuration and print what each of its steps used: `python -m benchmarks.runs.one_run --help`.

The result is one JSON document: `seconds`, CPU seconds by stage, with its proof and what is made from it, and by other step; and
the sizes of its graph, `vertices` and `arcs`.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from threading import Lock
from typing import Any

from pipeline.progress.shown import P, R
from pipeline.registry.stages import STAGES

# A table to the stage whose answer it is made from.
MADE_FROM = {table.name: name for name, stage in STAGES.items() for table in stage.tables}


class CpuSeconds:
    """CPU seconds of this process while steps run; those of the same stage that overlap count once."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._running: dict[str, int] = {}
        self._begun: dict[str, float] = {}
        self._lock = Lock()

    def __call__(self, name: str, step: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:  # type: ignore[valid-type, type-var]
        """Call a step."""
        group = "named" if name.startswith("named-") else name.removeprefix("proof-")
        group = MADE_FROM.get(group, group)
        with self._lock:
            if not self._running.get(group):
                self._begun[group] = time.process_time()
            self._running[group] = self._running.get(group, 0) + 1
        try:
            made: R = step(*args, **kwargs)  # type: ignore[valid-type]
        finally:
            with self._lock:
                self._running[group] -= 1
                if not self._running[group]:
                    self.seconds[group] = self.seconds.get(group, 0.0) + time.process_time() - self._begun[group]
        return made


def main() -> None:
    """Run the configuration and print what it used."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.runs.one_run", description=__doc__)
    parser.add_argument("file", type=Path, help="JSON file with the keys of the configuration")
    options = parser.parse_args()

    from pipeline.config.loading import run_config
    from pipeline.run import run
    from pipeline.runtime.early import load_kernels
    from pipeline.store.facts.run import RunFacts

    keys = json.loads(options.file.read_text(encoding="utf-8"))
    load_kernels(keys["backend"])  # which a run does beside its first steps
    watch = CpuSeconds()
    published = run(run_config("benchmark", **keys), call=watch)
    graph = RunFacts.of(published).graph
    found = {"seconds": watch.seconds, "vertices": graph.vertices, "arcs": graph.arcs}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
