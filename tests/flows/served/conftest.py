"""One server for all files here."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.flows.conftest import EMPTY, give_database
from tests.flows.processes import reserved_port
from tests.kept import kept


@pytest.fixture(scope="package")
def prefect(tmp_path_factory):
    """One embedded server for the flows of all files here. It also works when idle, so it ends with them."""
    from prefect.testing import utilities

    folder = tmp_path_factory.mktemp("prefect")
    database = folder / "prefect-test.db"
    give_database(database)
    with pytest.MonkeyPatch.context() as patch, reserved_port() as port:
        patch.setattr(utilities, "_find_available_port", lambda: port)
        patch.setattr(utilities, "mkdtemp", lambda: str(folder))
        with utilities.prefect_test_harness(server_startup_timeout=240):
            kept(EMPTY, lambda path: keep_database(database, path))
            yield


def keep_database(database: Path, path: Path) -> None:
    with closing(sqlite3.connect(database)) as found, closing(sqlite3.connect(path)) as copy:
        found.backup(copy)
