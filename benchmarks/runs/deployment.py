"""A Prefect server and a worker of their own, for runs that are started as docs/operations.md describes."""

import json
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

COMMAND = ["-m", "prefect", "deployment", "run", "road-network/nightly", "--watch", "-p"]
PATIENCE = 180  # seconds for the server's first start, which makes its database


@contextmanager
def deployed(folder: Path, graph: dict[str, object], **run: object) -> Iterator[list[str]]:
    """Deploy the flows, and give the Python command that starts a run of a graph and watches it; all files are in `folder`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    password = f"graphmill:{secrets.token_hex(16)}"
    settings = {
        "PREFECT_HOME": str(folder / "prefect"), "PREFECT_API_URL": f"{address}/api", "DO_NOT_TRACK": "1",
        "PREFECT_API_AUTH_STRING": password, "PREFECT_SERVER_API_AUTH_STRING": password,
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false", "PREFECT_SERVER_CSRF_PROTECTION_ENABLED": "true",
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": address, "PREFECT_WORKER_QUERY_SECONDS": "1",
    }  # fmt: skip
    file = folder / "run.toml"
    lines = [*_toml(run), "[graph]", *_toml(graph)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with patch.dict(os.environ, settings), ExitStack() as stack:
        log = stack.enter_context((folder / "prefect.log").open("wb"))
        port = address.rpartition(":")[2]
        stack.enter_context(_running(log, "server", "start", "--host", "127.0.0.1", "--port", port))
        for words in (
            ("server", "status", "--wait", "--timeout", str(PATIENCE)),
            ("work-pool", "create", "graphmill", "--type", "process", "--overwrite"),
            ("--no-prompt", "deploy", "--all"),
        ):
            subprocess.run([sys.executable, "-m", "prefect", *words], stdout=log, stderr=log, check=True)
        stack.enter_context(_running(log, "worker", "start", "--pool", "graphmill"))
        yield [*COMMAND, f"run={file}"]


@contextmanager
def _running(log: object, *words: str) -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-m", "prefect", *words], stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def _toml(values: dict[str, object]) -> Iterator[str]:
    return (f"{name} = {json.dumps(value)}" for name, value in values.items())
