import os

import pytest

os.environ.pop("PREFECT_API_URL", None)  # the tests' flows run on a server of their own
import flows  # noqa: F401  sets Prefect's defaults before Prefect is imported


@pytest.fixture(scope="module")
def prefect():
    """One embedded server with an empty database for the flows of a file. It also works when idle, so it ends with them."""
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=120):
        yield
