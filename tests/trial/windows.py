"""A window in which a person types commands: an interactive shell of some width on a pseudo-terminal."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.browser.chromium import BROWSER, NO_NETWORK, tab
from tests.flows.processes import clean_environment
from tests.flows.terminal import PseudoTerminal

WIDTH = 110  # characters


@contextmanager
def window(folder: Path, **variables: str) -> Iterator[PseudoTerminal]:
    """A shell in a folder that finds the commands of this environment."""
    environment = clean_environment(folder / ".prefect") | variables
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
    for name in ("COLUMNS", "PYTHONPATH", "NO_COLOR"):
        environment.pop(name, None)
    shell = PseudoTerminal(folder, environment)
    try:
        shell.type(f"stty cols {WIDTH} rows 40")
        yield shell
    finally:
        shell.shell.kill()  # an interactive shell ignores SIGTERM
        shell.shell.wait()


def in_browser(page: Path, profile: Path) -> tuple[str, int]:
    """The words on a page as Chromium shows it without a network, and the number of its pictures; only if there is Chromium."""
    assert BROWSER
    with tab(profile, NO_NETWORK) as browser:
        browser.open(page.resolve().as_uri(), 1400)
        return browser.value("document.body.innerText"), browser.value("document.querySelectorAll('img, svg').length")
