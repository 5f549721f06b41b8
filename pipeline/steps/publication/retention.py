"""The published runs of a folder, and which of them stay: the newest of each link, and those that readers may still use."""

import datetime as dt
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from pipeline.errors import Damaged
from pipeline.steps.publication.target import published_as
from pipeline.store import manifest
from pipeline.store.workspace import RUN_ID, STAMP
from pipeline.units import duration

READABLE = dt.timedelta(hours=1)  # in which a run stays after the next one was published, whatever `keep` says
log = logging.getLogger(__name__)


def published_at(run: str) -> dt.datetime | None:
    """The time in a run's id, UTC without a zone; None if the name is not a run's."""
    with suppress(ValueError):  # 31 February
        return dt.datetime.strptime(match[1], STAMP) if (match := RUN_ID.fullmatch(run)) else None
    return None


def reasons_to_keep(
    runs: Sequence[str],
    keep: int,
    links: Mapping[str, str],
    created: Callable[[str], dt.datetime | None],
    at_least: dt.timedelta | None = None,
) -> dict[str, str]:
    """Why each run stays; empty for a run that may be removed.

    Args:
        runs: Ids in ascending order, which is that of publication.
        keep: How many stay, the newest ones; not 0.
        links: Runs that a link names, with the name of one.
        created: The time of publication that a run's manifest states, in the form of `published_at`. It is asked only where the
            id states a time in the future: after a run with a wrong clock all later ids follow its id.
        at_least: For how long a run stays after the next one was published, for readers that still use it. Default: `READABLE`.
    """
    now, at_least = dt.datetime.now(dt.UTC).replace(tzinfo=None), READABLE if at_least is None else at_least

    def known(run: str) -> dt.datetime | None:
        stated = published_at(run)
        published = created(run) if stated and stated > now else stated
        return published if published and published <= now else None

    def reason(position: int, run: str) -> str:
        if position >= len(runs) - keep:
            return "it is the newest" if keep == 1 else f"it is one of the newest {keep}"
        if run in links:
            return f"{links[run]} names it"
        replaced = next(filter(None, map(known, runs[position + 1 :])), None)
        if replaced is None:
            return (
                "when it was replaced is not known, because the names and manifests of all later runs state times in the future"
            )
        short = now - replaced < at_least
        return f"it was replaced {duration((now - replaced).total_seconds())} ago, and readers may still use it" if short else ""

    return {run: reason(position, run) for position, run in enumerate(runs)}


def created_at(content: Mapping[str, Any]) -> dt.datetime | None:
    """The time that the content of a manifest states, in the form of `published_at`."""
    with suppress(KeyError, ValueError, TypeError):
        return dt.datetime.fromisoformat(content["created"]).astimezone(dt.UTC).replace(tzinfo=None)
    return None


def runs_in(runs: Path) -> list[Path]:
    """The runs in a folder, in order of publication; nothing else that is there."""
    folders = (path for path in runs.iterdir() if published_at(path.name) and not path.is_symlink())
    return sorted(path for path in folders if (path / manifest.FILE).is_file())


def retire(
    runs: Path, keep: int, removed: Path, link: str | None = None, at_least: dt.timedelta | None = None
) -> tuple[list[str], dict[str, str]]:
    """Move runs that `keep` does not keep, 0 keeps all, and that `reasons_to_keep` does not, away at once.

    With `link` only runs that were published under this name are counted and moved.

    Returns:
        The ids of the moved runs, and why each other one that is older than the newest `keep` stays.
    """
    names = [path.name for path in runs_in(runs)]
    if not keep:
        return [], {}
    links = {path.readlink().name: path.name for path in runs.parent.iterdir() if path.is_symlink()}
    moved, kept = list[str](), reasons_to_keep(names, keep, links, partial(_created, runs), at_least)
    if link is not None and not all(kept.values()):  # otherwise this saves a look into the runs
        names = [run for run in names if published_as(runs / run) == link]
        kept = reasons_to_keep(names, keep, links, partial(_created, runs), at_least)
    for old in [run for run, reason in kept.items() if not reason]:
        try:
            (runs / old).rename(removed / old)
            moved.append(old)
        except OSError as error:  # the new run is published; the next one tries again
            log.warning("%s: cannot be removed: %s", runs / old, error.strerror)
            kept[old] = f"it cannot be removed: {error.strerror}"
    return moved, {run: reason for run, reason in [*kept.items()][:-keep] if reason}


def _created(runs: Path, run: str) -> dt.datetime | None:
    with suppress(Damaged):
        return created_at(vars(manifest.read(runs / run).manifest))
    return None
