"""Three virtual hosts on this machine: network namespaces with an address each on one switch."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

ADDRESSES = ("10.0.0.5", "10.0.0.6", "10.0.0.7")
# The read ends when the test's process ends, even if it is killed; so no host outlives it.
GUARD = """
read -r _
for name in "$@"; do
  for _ in 1 2 3; do ip netns pids "$name" | xargs --no-run-if-empty kill -9; done
  ip netns delete "$name"
done
"""


def why_not() -> str:
    """Why this machine cannot create namespaces; an empty string if it can."""
    name = f"graphmill-{uuid4().hex[:8]}"
    try:
        _ip("netns", "add", name)
        try:
            _ip("-n", name, "link", "add", "one", "type", "veth", "peer", "name", "other")
            _ip("-n", name, "link", "add", "switch", "type", "bridge")
            _ip("netns", "exec", name, "openssl", "version")
        finally:
            _ip("netns", "delete", name)
    except FileNotFoundError:
        return "there is no `ip` (Debian's iproute2)"
    except subprocess.CalledProcessError as error:
        return f"three hosts take root, `ip netns`, a kernel with veth and bridges, and openssl: {error.stderr.strip()}"
    return ""


@dataclass
class Host:
    """A host and the switch to which it is connected."""

    address: str
    name: str
    switch: str
    environment: dict[str, str]
    folder: Path
    logs: list[Path] = field(default_factory=list)

    def start(self, command: str, cwd: Path) -> subprocess.Popen:
        """Run a command on the host in its own session; its output goes to the last of the `logs`."""
        self.logs.append(self.folder / f"log-{len(self.logs)}")
        with self.logs[-1].open("wb") as log:
            return subprocess.Popen(
                ["ip", "netns", "exec", self.name, "bash", "-euo", "pipefail", "-c", command], env=self.environment, cwd=cwd,
                start_new_session=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip

    def log(self) -> str:
        """The output of its commands."""
        return "\n".join(log.read_text() for log in self.logs)

    def processes(self) -> list[int]:
        """The ids of all processes on the host."""
        return [int(number) for number in _ip("netns", "pids", self.name).split()]

    def listens_on(self) -> set[str]:
        """The addresses on which it listens for TCP connections."""
        listed = subprocess.run(["ip", "netns", "exec", self.name, "ss", "-Htln"], text=True, check=True, capture_output=True)
        return {line.split()[3].rpartition(":")[0] for line in listed.stdout.splitlines()}

    def disconnect(self) -> None:
        """Disconnect the host: packets are lost silently."""
        _ip("-n", self.switch, "link", "set", f"port-{self.address}", "down")

    def reconnect(self) -> None:
        """Reconnect the host."""
        _ip("-n", self.switch, "link", "set", f"port-{self.address}", "up")


@contextmanager
def three_hosts(folder: Path, environment: dict[str, str]) -> Iterator[list[Host]]:
    """Hosts at `ADDRESSES` with a folder each; removed at the end, even if this process is killed."""
    mark = f"graphmill-{uuid4().hex[:8]}"
    switch, names = f"{mark}-switch", [f"{mark}-{address}" for address in ADDRESSES]
    guard = subprocess.Popen(
        ["bash", "-c", GUARD, "guard", switch, *names], start_new_session=True,
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        for name in (switch, *names):
            _ip("netns", "add", name)
        _ip("-n", switch, "link", "add", "switch", "type", "bridge")
        _ip("-n", switch, "link", "set", "switch", "up")
        hosts = []
        for address, name in zip(ADDRESSES, names, strict=True):
            port = f"port-{address}"
            _ip("-n", switch, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", name)
            _ip("-n", switch, "link", "set", port, "master", "switch", "up")
            _ip("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                _ip("-n", name, "link", "set", device, "up")
            hosts.append(Host(address, name, switch, environment | {"HOST": address}, folder / address))
            hosts[-1].folder.mkdir()
        yield hosts
    finally:
        guard.communicate()


def _ip(*arguments: str) -> str:
    return subprocess.run(["ip", *arguments], text=True, check=True, capture_output=True).stdout
