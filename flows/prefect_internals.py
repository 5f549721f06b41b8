"""What the project uses of Prefect that Prefect does not document: here only, and tried with Prefect 3.9.1.

`tests/flows/test_prefect_internals.py` fails if Prefect changes any of it.
"""

import subprocess
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import prefect.context
from prefect.server.api.server import SubprocessASGIServer
from prefect.server.services import perpetual_services
from prefect.settings import Settings


class EmbeddedServer(SubprocessASGIServer):
    """Prefect's embedded server, in a process that `launch` starts.

    Prefect keeps one object of such a server per process: the first, of whatever class. It starts its own server, without a
    password, if it does not call the replaced method any more.
    """

    @abstractmethod
    def launch(self) -> subprocess.Popen[bytes]:
        """Start the process, which listens on `port`."""

    def _run_uvicorn_command(self) -> subprocess.Popen[bytes]:
        return self.launch()


def set_for_process(settings: Settings) -> None:
    """Let all threads of this process use settings, and not its child processes, which inherit variables of the environment.

    If Prefect does not read the name any more, its client has no password, and the embedded server refuses it.
    """
    context = prefect.context.get_settings_context()
    prefect.context.GLOBAL_SETTINGS_CONTEXT = context.model_copy(update={"settings": settings})


def run_when_embedded(*functions: Callable[..., Any]) -> None:
    """Let an embedded server that this process makes call services that Prefect keeps for other servers.

    If Prefect does not read the field any more, the services do not run.
    """
    for service in perpetual_services.get_perpetual_services():
        service.run_in_ephemeral |= service.function in functions
