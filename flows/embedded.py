"""Prefect's embedded server, which a flow starts if none is configured, and which must not outlive the flow."""

from __future__ import annotations

import subprocess

from prefect.server.api.server import SubprocessASGIServer

# `read` returns when the flow's process, the only holder of the pipe's other end, has ended, also by a signal.
GUARD = 'read -r _; kill "$0" && for _ in 1 2 3 4 5; do sleep 1; kill -0 "$0" || exit; done; kill -9 "$0"'


class GuardedServer(SubprocessASGIServer):
    """The embedded server, with a shell that waits for the end of the flow's process and then stops the server.

    Prefect stops its server when the interpreter exits, which does not happen after SIGTERM or SIGKILL. The shell has its own
    session, so that a signal to the flow's process group does not end it first.
    """

    guard: subprocess.Popen[bytes] | None = None

    def _run_uvicorn_command(self) -> subprocess.Popen[bytes]:
        server: subprocess.Popen[bytes] = super()._run_uvicorn_command()
        self._dismiss()
        self.guard = subprocess.Popen(
            ["/bin/sh", "-c", GUARD, str(server.pid)],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        return server

    def stop(self) -> None:
        """Stop the server, then the guard."""
        super().stop()
        self._dismiss()

    def _dismiss(self) -> None:
        if self.guard:
            self.guard.kill()
            self.guard.communicate()
            self.guard = None
