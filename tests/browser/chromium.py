"""A headless Chromium that tests operate over its DevTools protocol: real keys, a real pointer, any width."""

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from websockets.sync.client import connect

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-extensions", "--hide-scrollbars",
)  # fmt: skip
PATIENCE = 240.0  # seconds for one answer, on a busy machine
NO_NETWORK = "--host-resolver-rules=MAP * ~NOTFOUND"


class Tab:
    """A page of the browser."""

    def __init__(self, socket: Any) -> None:
        self._socket, self._numbers = socket, count(1)
        self._loaded: set[str] = set()  # loaders of pages that have loaded

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command of the protocol, and return its result."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while (answer := self._received()).get("id") != number:
            pass
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def _received(self) -> dict[str, Any]:
        """The next answer or event."""
        received = json.loads(self._socket.recv(timeout=PATIENCE))
        if received.get("method") == "Page.lifecycleEvent" and received["params"]["name"] == "load":
            self._loaded.add(received["params"]["loaderId"])
        return received

    def open(self, url: str, width: int, height: int = 1000, theme: str = "light") -> None:
        """Show a page in a window of this size and theme, and wait until it has loaded."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
        self.call("Page.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)
        loader = self.call("Page.navigate", url=url)["loaderId"]
        while loader not in self._loaded:  # the page before could still answer questions
            self._received()

    def value(self, script: str) -> Any:
        """The value of an expression, which may be a promise."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def until(self, script: str, seconds: float = PATIENCE) -> Any:
        """Wait until an expression is true, and return it."""
        end = time.monotonic() + seconds
        while not (found := self.value(script)):
            assert time.monotonic() < end, f"not within {seconds} s: {script}"
            time.sleep(0.05)
        return found

    def point(self, x: float, y: float, kind: str = "mouseMoved", **more: Any) -> None:
        """Move, press or release the pointer, or turn its wheel."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def key(self, key: str) -> None:
        """Press a key."""
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)


@contextmanager
def tab(profile: Path, *switches: str) -> Iterator[Tab]:
    """A new browser with one page, until the block exits."""
    command = [str(BROWSER), *QUIET, *switches, f"--user-data-dir={profile}", "--remote-debugging-port=0", "about:blank"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as browser:
        try:
            port, end = profile / "DevToolsActivePort", time.monotonic() + PATIENCE
            while not (port.exists() and port.read_text().count("\n")):
                assert browser.poll() is None and time.monotonic() < end, "the browser does not start"
                time.sleep(0.05)
            number, path = port.read_text().split()
            # Without pings, which a busy browser would answer too late.
            options = {"max_size": None, "proxy": None, "open_timeout": PATIENCE, "ping_interval": None}
            with connect(f"ws://127.0.0.1:{number}{path}", **options) as whole:
                targets = Tab(whole).call("Target.getTargets")["targetInfos"]
            page = next(target["targetId"] for target in targets if target["type"] == "page")
            with connect(f"ws://127.0.0.1:{number}/devtools/page/{page}", **options) as socket:
                yield Tab(socket)
        finally:
            browser.kill()
