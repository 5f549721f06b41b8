"""What the project uses of Dask that Dask does not document: here only, and tried with Dask 2026.7.1.

`tests/cluster/test_security.py` and `tests/cluster/test_fork_server.py` fail if Dask changes any of it.
"""

import os
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from distributed import Security, utils


class SecurityInMemory(Security):
    """Dask's `Security.temporary()`, but OpenSSL, which opens files only, reads certificate and key from anonymous memory.

    Dask writes both into a temporary folder for that moment, where a process that is killed then leaves the key for ever. It
    does so again if it does not call the replaced method any more.
    """

    def _get_tls_context(self, tls: dict[str, Any], purpose: ssl.Purpose) -> ssl.SSLContext:
        with ExitStack() as opened:
            held = {part: opened.enter_context(_file_of(tls[part])) for part in ("cert", "key")}
            context: ssl.SSLContext = super()._get_tls_context({**tls, **held}, purpose)  # type: ignore[no-untyped-call]
            return context


@contextmanager
def _file_of(text: str) -> Iterator[str]:
    """A path at which this process can read a text, which is in no file system and is gone when the process ends."""
    with os.fdopen(os.memfd_create("graphmill", os.MFD_CLOEXEC), "w") as memory:
        memory.write(text)
        memory.flush()
        yield f"/proc/self/fd/{memory.fileno()}"


def keep_fork_server() -> None:
    """Keep Dask from choosing what the fork server imports.

    Dask would import all packages that it knows into this process, among them pandas, which takes half a second, and load them
    into a fork server that replaces a killed one. It does so again if it does not read the name any more.
    """
    utils._forkserver_preload_set = True
