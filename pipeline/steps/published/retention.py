"""The published runs of a folder, and which of them stay: the newest of each link, and those that readers may still use."""

import datetime as dt
import logging
from collections.abc import Collection, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from pipeline.steps.published.target import published_as
from pipeline.store import manifest
from pipeline.store.workspace import RUN_ID, STAMP

READABLE = dt.timedelta(hours=1)  # in which a run stays after the next one was published, whatever `keep` says
log = logging.getLogger(__name__)


def published_at(run: str) -> dt.datetime | None:
    """The time in a run's id, UTC without a zone; None if the name is not a run's."""
    with suppress(ValueError):  # 31 February
        return dt.datetime.strptime(match[1], STAMP) if (match := RUN_ID.fullmatch(run)) else None
    return None


def removable(runs: Sequence[str], keep: int, linked: Collection[str] = ()) -> list[str]:
    """The ids of all runs but the newest `keep`, which is not 0, and but those in `linked` or that readers may still use.

    `runs` are ids in ascending order.
    """
    latest = dt.datetime.now(dt.UTC).replace(tzinfo=None) - READABLE
    older = [*pairwise(runs)][: max(len(runs) - keep, 0)]
    return [old for old, new in older if old not in linked and (replaced := published_at(new)) and replaced <= latest]


def runs_in(runs: Path) -> list[Path]:
    """The runs in a folder, in order of publication; nothing else that is there."""
    found = (path for path in runs.iterdir() if published_at(path.name) and not path.is_symlink())
    return sorted(path for path in found if (path / manifest.FILE).is_file())


def retire(runs: Path, keep: int, removed: Path, link: str | None = None) -> list[str]:
    """Move runs that `keep` does not keep, 0 keeps all, and no link such as `latest` names, away at once; return their ids.

    With `link` only runs that were published under this name are counted and moved.
    """
    found, moved = [path.name for path in runs_in(runs)], list[str]()
    if not keep or not removable(found, keep):
        return moved  # without a look into the runs
    found = [run for run in found if link in (None, published_as(runs / run))]
    for old in removable(found, keep, {path.readlink().name for path in runs.parent.iterdir() if path.is_symlink()}):
        try:
            (runs / old).rename(removed / old)
            moved.append(old)
        except OSError as error:  # the new run is published; the next one tries again
            log.warning("%s: cannot be removed: %s", runs / old, error.strerror)
    return moved
