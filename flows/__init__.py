"""Flows and tasks of Prefect, which pass manifests and never arrays.

Prefect reads its settings when it is first imported, from the environment and from pyproject.toml in the working directory. The
defaults here make the flows behave the same from any directory; a variable that is already set wins. A worker imports Prefect
before the flows, so prefect.yaml sets the same.
"""

import logging
import os

LOGGERS = ("flows", "pipeline", "kernels")
DEFAULTS = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_EPHEMERAL_ENABLED": "true",  # pyproject.toml forbids it to Prefect's own command, which would not protect it
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",  # the first run in a new PREFECT_HOME creates the database
    "PREFECT_LOGGING_EXTRA_LOGGERS": ",".join(LOGGERS),
    "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",  # the pipeline may also run outside a flow
    "PREFECT_LOGGING_LOGGERS_PREFECT_TASK_RUNS_LEVEL": "WARNING",  # our own log lines state when a step starts and ends
}

for name, value in DEFAULTS.items():
    os.environ.setdefault(name, value)
for name in LOGGERS:
    logging.getLogger(name).setLevel(logging.INFO)  # Prefect would leave it at the root logger's WARNING
