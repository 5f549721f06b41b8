"""Which link of the output folder a run is published under: `latest` stays with one configuration."""

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Any

from kernels.records import dataclass
from pipeline.config.loading import anchored
from pipeline.config.run import LINK, RunConfig
from pipeline.errors import Damaged
from pipeline.redaction import redacted
from pipeline.store import manifest
from pipeline.store.facts.run import ConfigurationFacts
from pipeline.store.workspace import linked_run, require_ours

log = logging.getLogger(__name__)
LATEST, MANUAL = "latest", "manual"


@dataclass(frozen=True)
class Target:
    """The link that will name a run."""

    link: str = LATEST
    why_not_latest: str = ""  # empty for `latest`, and for a name that was asked for
    configuration: ConfigurationFacts = field(default_factory=lambda: ConfigurationFacts(file="", changed=[], values={}))
    # Facts of the run that the link names now; empty if there is none. Their fields may be those of an earlier version.
    previous: Mapping[str, Any] = field(default_factory=dict)


def target_of(config: RunConfig) -> Target:
    """Choose the link of a run.

    It is `latest`, unless the configuration names another one, or `latest` is the result of another file or deployment: then it
    is the name of the run's file, or `manual` for a run whose options ask for other sources, fewer stages or another graph. Any
    run moves a `latest` that was made by options alone.

    Raises:
        BadConfig: Something that is not a link to a run has the name.
    """
    values = _comparable(config.model_dump(mode="json"))
    configuration = ConfigurationFacts(file=config.origin.file, changed=[*config.origin.changed], values=values)
    link, why = config.publish_as, ""
    if link is None:
        link, why = _chosen(config, _facts(config.output / LATEST).get("configuration"))
    require_ours(config.output / link)
    return Target(link, why, configuration, _facts(config.output / link))


def published_as(run: Path) -> str:
    """The link of a run when it was published; that of a damaged manifest or an earlier version is `latest`."""
    with suppress(Damaged):
        return str(manifest.read(run).facts.get("published_as", LATEST))
    return LATEST


def _chosen(config: RunConfig, before: Mapping[str, Any] | None) -> tuple[str, str]:
    """The link, and why it is not `latest`; `before` is the configuration of the latest run."""
    if before is None or not before["file"]:  # by options alone, which nobody runs again as they were
        return LATEST, ""
    file, changed = config.origin.file, config.origin.changed
    if file and not changed:
        if before["changed"] or before["file"] == file:
            return LATEST, ""
        name = file if LINK.fullmatch(file) else MANUAL
        return name, f"it is the result of {before['file']}.toml, not of {file}.toml"
    now, then = (_comparable(RunConfig.content_of(values)) for values in (config.model_dump(mode="json"), before["values"]))
    fewer = not set(then["stages"] or ()) <= set(now["stages"])
    known = now.keys() & before["values"].keys() - {"stages"}
    differing = [key for key in now if key in known and _differ(now[key], then[key])] + ["stages"] * fewer
    return (MANUAL, f"this run differs from it in {', '.join(differing)}") if differing else (LATEST, "")


def _differ(now: Any, then: Any) -> bool:
    """Whether values differ; a key that only one version of the configuration has does not count."""
    if isinstance(now, dict) and isinstance(then, dict):
        return any(_differ(now[key], then[key]) for key in now.keys() & then.keys())
    return bool(now != then)


def _facts(link: Path) -> Mapping[str, Any]:
    try:
        return linked_run(link).facts if link.is_symlink() else {}
    except Damaged as damage:
        log.warning("%s; nothing is compared with this run", damage)
        return {}


def _comparable(values: dict[str, Any]) -> dict[str, Any]:
    """The values of a configuration as JSON without secrets, with absolute paths, so that they mean the same in any folder."""
    return {key: _without_secrets(_absolute(value)) for key, value in values.items()}


def _absolute(value: Any) -> Any:
    """The same value with the paths of a table, or of several in a list, made absolute."""
    if isinstance(value, dict):
        return anchored(value, Path.cwd())
    return [_absolute(each) for each in value] if isinstance(value, list) else value


def _without_secrets(value: Any) -> Any:
    """The same JSON with all URLs redacted."""
    if isinstance(value, dict):
        return {key: _without_secrets(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without_secrets(inner) for inner in value]
    return redacted(value) if isinstance(value, str) else value
