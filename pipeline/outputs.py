"""Where a run writes: the folder or the URL of its output."""

import os
import re
from hashlib import sha256
from pathlib import Path

from pipeline.redaction import redacted

_URL = re.compile("([a-zA-Z][a-zA-Z0-9+.-]+):/+(.*)", re.DOTALL)


def url_of(value: object) -> str | None:
    """The URL that a text or a path states, which has a single slash in a path; None if it states a folder of this machine."""
    found = _URL.fullmatch(str(value)) if isinstance(value, str | Path) else None
    return f"{found[1]}://{'/' * (found[1] == 'file')}{found[2].rstrip('/')}" if found else None


def workplace(url: str) -> Path:
    """The folder in which runs with an output URL work: below `XDG_CACHE_HOME`, or `~/.cache`."""
    name = re.sub("[^A-Za-z0-9]+", "-", redacted(url)).strip("-")[-40:]
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home / "graphmill" / f"{name}-{sha256(url.encode()).hexdigest()[:8]}"


def output_folder(out: Path) -> Path:
    """The folder of the runs of an output: the path itself, or the one in which runs with this output URL work."""
    url = url_of(out)
    return workplace(url) if url else out
