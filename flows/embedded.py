"""Prefect's embedded server, which a flow starts if none is configured: only this flow may use it, and it ends with the flow.

Prefect's own embedded server needs no password, allows every origin and shares its database with the server of the deployments:
any program of the machine, and any page in a browser, could create a flow run there, whose command the worker executes.
"""

import os
import secrets
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

from fastapi import FastAPI
from prefect.server.api import server as prefect_server
from prefect.server.services import db_vacuum
from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_HOME, get_current_settings

from flows.prefect_internals import EmbeddedServer, run_when_embedded, set_for_process

# `read` returns when the flow's process, the only holder of the pipe's other end, has ended, also by a signal.
GUARD = 'read -r _; kill "$0" && for _ in 1 2 3 4 5; do sleep 1; kill -0 "$0" || exit; done; kill -9 "$0"'
DATABASE = "embedded.db"  # in PREFECT_HOME; never that of the server to which flows are deployed
KEPT = 30 * 86400  # seconds for which runs are kept, with their logs and artifacts; pyproject.toml states the same for a server
WORTH_SHRINKING = 2**24  # unused bytes of the database's file


class GuardedServer(EmbeddedServer):
    """The embedded server, with a password, and with a shell that stops it when the flow's process ends.

    Prefect stops its server when the interpreter exits, which does not happen after SIGKILL. Server and shell have sessions of
    their own, so that a signal to the flow's process group does not end them before the flow has reported its end.
    """

    guard: subprocess.Popen[bytes] | None = None
    listener: socket.socket | None = None

    def find_available_port(self) -> int:
        """Bind a free port of loopback, and keep it: no other process can take it before the server listens."""
        self._release()
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        port: int = self.listener.getsockname()[1]
        return port

    def launch(self) -> subprocess.Popen[bytes]:
        """Start the server and its guard."""
        assert self.listener
        settings = get_current_settings()
        shrink(PREFECT_HOME.value() / DATABASE)
        server = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "--app-dir", str(Path(__file__).parents[1]), "--factory", f"{__name__}:create_app",
             "--fd", str(self.listener.fileno()), "--log-level", "error", "--lifespan", "on"],
            env={**os.environ, **settings.to_environment_variables(exclude_unset=True), **self._settings()},
            pass_fds=[self.listener.fileno()], start_new_session=True, umask=0o077,
        )  # fmt: skip
        self._release()
        self._dismiss()
        self.guard = subprocess.Popen(
            ["/bin/sh", "-c", GUARD, str(server.pid)],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        return server

    def _settings(self) -> dict[str, str]:
        """Settings of the server that no configuration may change; the password is the one that this process's clients send."""
        return {
            "PREFECT_UI_ENABLED": "0",
            "PREFECT_SERVER_API_AUTH_STRING": str(PREFECT_API_AUTH_STRING.value()),
            "PREFECT_SERVER_CSRF_PROTECTION_ENABLED": "true",
            "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": self.address,
            "PREFECT_SERVER_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{PREFECT_HOME.value() / DATABASE}",
            "PREFECT_SERVER_SERVICES_SCHEDULER_ENABLED": "false",  # there are no deployments
            "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs",
            "PREFECT_SERVER_SERVICES_DB_VACUUM_RETENTION_PERIOD": str(KEPT),
            "PREFECT_SERVER_REGISTER_BLOCKS_ON_START": "false",  # no flow uses one; a fifth of the start's CPU time
        }

    def stop(self) -> None:
        """Stop the server, then the guard."""
        super().stop()
        self._dismiss()

    def _release(self) -> None:
        if self.listener:
            self.listener.close()
            self.listener = None

    def _dismiss(self) -> None:
        if self.guard:
            self.guard.kill()
            self.guard.communicate()
            self.guard = None


def create_app() -> FastAPI:
    """Prefect's server, which also removes old runs; Prefect does not do that in embedded servers, whose database only grows."""
    run_when_embedded(db_vacuum.schedule_vacuum_tasks, db_vacuum.schedule_orphan_vacuum_tasks)
    return prefect_server.create_app(ephemeral=True, final=True)


def shrink(database: Path) -> None:
    """Give back the space of what was deleted, if it is most of the database's file, and no other flow uses it."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"{database.as_uri()}?mode=rw", uri=True, timeout=0)) as opened:
        figures = ("freelist_count", "page_count", "page_size")
        unused, pages, size = (opened.execute(f"PRAGMA {figure}").fetchone()[0] for figure in figures)
        if 2 * unused > pages and unused * size > WORTH_SHRINKING:
            opened.execute("VACUUM")


def prepare() -> None:
    """Make the embedded server of this process a guarded one, with a password that only this process knows."""
    password = f"graphmill:{secrets.token_urlsafe(32)}"
    set_for_process(get_current_settings().copy_with_update({PREFECT_API_AUTH_STRING: password}))
    GuardedServer()  # the first object, which Prefect keeps
