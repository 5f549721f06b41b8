"""Prefect, and nothing else: flows and tasks that pass manifests, never arrays.

Prefect reads its settings when it is first imported, from the environment and the working directory's pyproject.toml. The
defaults here make the flows behave the same from any directory; a variable that is set already wins. Where a worker runs the
flows, Prefect comes first, and prefect.yaml sets the same.
"""

from __future__ import annotations

import logging
import os

LOGGERS = ("flows", "pipeline", "kernels")
DEFAULTS = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",  # the first run in a fresh PREFECT_HOME makes the database
    "PREFECT_LOGGING_EXTRA_LOGGERS": ",".join(LOGGERS),
    "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",  # the pipeline may also run outside a flow
    "PREFECT_LOGGING_LOGGERS_PREFECT_TASK_RUNS_LEVEL": "WARNING",  # our own lines say when a step starts and ends
}

for name, value in DEFAULTS.items():
    os.environ.setdefault(name, value)
for name in LOGGERS:
    logging.getLogger(name).setLevel(logging.INFO)  # Prefect leaves it to the root's, which is WARNING
