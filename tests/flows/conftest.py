import os
import shutil
from importlib.metadata import version
from pathlib import Path

from tests.kept import CACHE

# Without an address, the flows would load all of Prefect's server, in every process that collects tests.
os.environ["PREFECT_API_URL"] = "http://127.0.0.1:9/api"
import flows.tasks  # noqa: F401

del os.environ["PREFECT_API_URL"]

EMPTY = CACHE / f"prefect-{version('prefect')}.db"


def give_database(database: Path) -> None:
    """Begin with a server's empty database, which takes seconds to make; the flows of test_processes.py make it."""
    if EMPTY.exists():
        shutil.copy(EMPTY, database)
