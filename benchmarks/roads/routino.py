"""Paths by Routino."""

import subprocess
from pathlib import Path

Place = tuple[float, float]
TRANSPORTS = {"car": "motorcar", "bicycle": "bicycle", "foot": "foot"}
HIGHWAYS = ("motorway", "trunk", "primary", "secondary", "tertiary", "unclassified", "residential", "service", "track",
            "cycleway", "path", "steps", "ferry")  # fmt: skip
OPEN = {
    "car": (*HIGHWAYS[:8], "ferry"),
    "bicycle": (*HIGHWAYS[1:11], "ferry"),
    "foot": HIGHWAYS[1:],
}
PROPERTIES = ("paved", "multilane", "bridge", "tunnel", "footroute", "bicycleroute")
ROUTER = "routino-router-slim"  # 3.3.3's `routino-router` crashes at many crossings of some extracts
SHARE = Path("/usr/share/routino")


class Routino:
    """Routino's database of an extract; all classes that a profile takes count alike."""

    name, version = "Routino", ""

    def __init__(self, extract: Path, profile: str, folder: Path, turns: bool) -> None:
        command = ["planetsplitter", f"--dir={folder}", "--prefix=roads", "--prune-none", str(extract)]
        subprocess.run(command, check=True, capture_output=True)
        answer = subprocess.run([ROUTER, "--version"], capture_output=True, text=True, check=False)
        self.version = (answer.stdout + answer.stderr).split()[2]
        self._command = [
            ROUTER, f"--dir={folder}", "--prefix=roads", f"--profiles={SHARE / 'profiles.xml'}",
            f"--translations={SHARE / 'translations.xml'}", f"--transport={TRANSPORTS[profile]}", "--shortest",
            f"--turns={int(turns)}", f"--oneway={int(profile != 'foot')}", "--exact-nodes-only", "--output-text-all",
            "--output-stdout",
            *(f"--highway-{name}={100 if name in OPEN[profile] else 0}" for name in HIGHWAYS),
            *(f"--property-{name}=50" for name in PROPERTIES),
        ]  # fmt: skip

    def path(self, source: Place, target: Place, at_most: float | None = None) -> list[Place] | None:
        """The points of a shortest path between two places."""
        places = [
            f"--{name}{end}={place[at]}" for end, place in ((1, source), (2, target)) for at, name in enumerate(("lon", "lat"))
        ]
        answer = subprocess.run([*self._command, *places], capture_output=True, text=True, check=False)
        if answer.returncode < 0:
            raise RuntimeError(f"{ROUTER} was ended by signal {-answer.returncode}")
        if answer.returncode:
            return None
        rows = [line.split("\t") for line in answer.stdout.splitlines() if line and not line.startswith("#")]
        return [(float(row[1]), float(row[0])) for row in rows]
