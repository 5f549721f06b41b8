"""Known vulnerabilities of the locked packages: `python -m tests.project.dependencies.advisories DATABASE` writes their list.

The database is that of the Python Packaging Authority, in the format of OSV (https://ossf.github.io/osv-schema/): a URL that Git
clones, or a folder with a clone. The file is as old as the database's last commit, whose date it states.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[3]
FILE = ROOT / "requirements" / "advisories.json"
SOURCE = "https://github.com/pypa/advisory-database"


def locked(files: str = "*.txt") -> dict[str, set[str]]:
    """Versions by package in lock files, in all by default."""
    found: dict[str, set[str]] = {}
    for path in (ROOT / "requirements").glob(files):
        for name, version in re.findall(r"^([\w.-]+)(?:\[[^]]*])?==([^\s;\\]+)", path.read_text(), re.MULTILINE):
            found.setdefault(canonicalize_name(name), set()).add(version)
    return found


def affects(advisory: dict[str, Any], version: str) -> bool:
    """Whether a version is listed, or in one of the ranges from the first affected to before the first fixed version."""
    here = Version(version)
    inside = (Version(first) <= here and (end is None or here < Version(end)) for first, end in advisory["ranges"])
    return any(inside) or str(here) in {str(Version(listed)) for listed in advisory["versions"]}


def condensed(advisory: dict[str, Any], package: str) -> dict[str, Any]:
    """What is needed to compare versions: the ranges; the list of versions only where there are no ranges."""
    mine = [each for each in advisory["affected"] if canonicalize_name(each["package"]["name"]) == package]
    ranges = [
        pair for each in mine for one in each.get("ranges", []) if one["type"] == "ECOSYSTEM" for pair in _pairs(one["events"])
    ]
    versions = [] if ranges else sorted({str(version) for each in mine for version in each.get("versions", [])})
    return {"id": advisory["id"], "aliases": sorted(advisory.get("aliases", [])), "ranges": ranges, "versions": versions}


def _pairs(events: Iterable[dict[str, str]]) -> list[tuple[str, str | None]]:
    pairs, first = [], None
    for event in events:
        if "introduced" in event:
            first = str(event["introduced"])
        elif first is not None:
            pairs.append((first, str(event["fixed"])) if "fixed" in event else (first, f"{event['last_affected']}.post999"))
            first = None
    return pairs + ([(first, None)] if first is not None else [])


def collected(database: Path) -> dict[str, Any]:
    """The advisories of all locked packages, and where they come from."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", "-C", database, *arguments], check=True, capture_output=True, text=True).stdout

    packages = {package: [] for package in sorted(locked())}
    for path in git("ls-tree", "-r", "--name-only", "HEAD", "vulns").splitlines():
        package = canonicalize_name(path.split("/")[1])
        if package in packages:
            advisory = yaml.safe_load(git("show", f"HEAD:{path}"))
            if "withdrawn" not in advisory:
                packages[package].append(condensed(advisory, package))
    commit, date = git("log", "-1", "--format=%H %cs").split()
    return {"source": SOURCE, "commit": commit, "date": date, "packages": packages}


def main(database: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        if "://" in database:
            subprocess.run(["git", "clone", "--quiet", "--depth", "1", database, folder], check=True)
        found = collected(Path(folder if "://" in database else database))
    rows = {name: ",\n".join(f"   {json.dumps(each)}" for each in advisories) for name, advisories in found["packages"].items()}
    packages = ",\n".join(f'  "{name}": [' + (f"\n{each}\n  ]" if each else "]") for name, each in rows.items())
    head = "".join(f' "{key}": "{found[key]}",\n' for key in ("source", "commit", "date"))
    FILE.write_text(f'{{\n{head} "packages": {{\n{packages}\n }}\n}}\n')


if __name__ == "__main__":
    main(sys.argv[1])
