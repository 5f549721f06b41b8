"""Prefect's embedded server, which a flow starts where no server is configured, dies with the flow, however that dies."""

from __future__ import annotations

import subprocess

from prefect.server.api.server import SubprocessASGIServer

# The read ends when the last holder of the pipe's other end is gone: that is the flow's process, by whatever signal.
GUARD = 'read -r _; kill "$0" && for _ in 1 2 3 4 5; do sleep 1; kill -0 "$0" || exit; done; kill -9 "$0"'


class GuardedServer(SubprocessASGIServer):
    """The embedded server with a shell beside it that waits for the flow's end and then stops the server.

    Prefect stops its server when the interpreter exits, which SIGTERM and SIGKILL do not let it do. The shell has a session of
    its own, so what ends the flow's process group does not end it first.
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
