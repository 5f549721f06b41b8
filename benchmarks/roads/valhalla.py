"""Paths by Valhalla."""

import json
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

import valhalla
from valhalla import Actor, get_config
from valhalla.utils import decode_polyline

Place = tuple[float, float]
COSTINGS = {"car": "auto", "bicycle": "bicycle", "foot": "pedestrian"}


class Valhalla:
    """Valhalla's tiles of an extract; it looks for the shortest paths, also over streets that it avoids by default."""

    name, version = "Valhalla", version("pyvalhalla")

    def __init__(self, extract: Path, profile: str, folder: Path, turns: bool) -> None:
        (folder / "tiles").mkdir()
        config: dict[str, Any] = get_config(tile_extract="", tile_dir=str(folder / "tiles"), verbose=False)
        config["mjolnir"] |= {"concurrency": 1, "admin": "", "timezone": ""}
        config["service_limits"]["pedestrian"]["max_distance"] = config["service_limits"]["bicycle"]["max_distance"] = 1e6
        config["service_limits"]["max_distance_disable_hierarchy_culling"] = 1e6
        (folder / "valhalla.json").write_text(json.dumps(config))
        program = Path(valhalla.__file__).parent / "bin" / "valhalla_build_tiles"
        program.chmod(0o755)  # installers may drop the bit
        command = [str(program), "-c", str(folder / "valhalla.json"), str(extract)]
        subprocess.run(command, check=True, capture_output=True)
        self._actor = Actor(folder / "valhalla.json")
        self._costing = COSTINGS[profile]
        self._options = {"shortest": True, "ignore_restrictions": not turns, "disable_hierarchy_pruning": True}
        if profile == "foot":
            self._options |= {"step_penalty": 0, "max_hiking_difficulty": 6}

    def path(self, source: Place, target: Place, at_most: float | None = None) -> list[Place] | None:
        """The points of a shortest path between two places."""
        places = [{"lon": lon, "lat": lat, "minimum_reachability": 0, "node_snap_tolerance": 1} for lon, lat in (source, target)]
        request = {"locations": places, "costing": self._costing, "costing_options": {self._costing: self._options}}
        try:
            answer = json.loads(self._actor.route(json.dumps(request | {"directions_type": "none"})))
        except RuntimeError:
            return None
        points: list[Place] = decode_polyline(answer["trip"]["legs"][0]["shape"])
        return points
