"""The newest state of a graph in an output folder: the run that a link names, and the steps that it came from."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from pydantic import ValidationError

from pipeline.config.loading import checked
from pipeline.config.run import RunConfig
from pipeline.errors import AlreadyApplied, BadConfig, Busy, Damaged
from pipeline.progress.shown import Steps
from pipeline.steps.publication.remote import is_uploaded, upload
from pipeline.steps.publication.target import Target
from pipeline.store import manifest
from pipeline.store.deltas import EDGES, GRAPHS
from pipeline.store.facts.run import ConfigurationFacts
from pipeline.store.manifest import Folder
from pipeline.store.workspace import linked_run


@dataclass(frozen=True)
class PublishedState:
    """A published run of a graph, to which changes can be applied."""

    output: Path
    link: str
    run: Folder

    @property
    def name(self) -> str:
        """The id of the run."""
        return self.run.path.name

    def target(self) -> Target:
        """Where the next run is published: under the same link, with the same configuration."""
        return Target(self.link, "", ConfigurationFacts.model_validate(self.run.facts["configuration"]), self.run.facts)

    def config(self, **options: Any) -> RunConfig:
        """The configuration of the run, with some options replaced. Raises BadConfig if this version cannot read it."""
        given = {**_up_to_date(self.run.facts.get("configuration", {}).get("values", {})), "output": self.output, **options}
        try:
            return RunConfig.model_validate(given)
        except ValidationError as error:
            by_option = error.errors()[0]["loc"][0] in options
        return checked(RunConfig, "options" if by_option else f"{self.run.path}: its configuration cannot be used again", **given)

    def steps(self) -> tuple[Folder, Folder]:
        """The edge list and the stored graph, whose files are not read. Raises BadConfig if a later run has replaced them."""
        steps = self.output / "steps"
        edges = self._step("edges", [steps / name for name in EDGES])
        return edges, self._step("graph", [steps / name for name in GRAPHS])

    def require_alone(self) -> None:
        """Raise BadConfig if another link names a changed graph, too: its next state would replace the files of this one."""
        changed = [self.output / "steps" / name for name in GRAPHS[1:]]
        for link in sorted(path for path in self.output.iterdir() if path.is_symlink() and path.name != self.link):
            with suppress(Damaged):  # not a link to a run
                if manifest.find(changed, linked_run(link).manifest.inputs.get("graph", ""), checked=False):
                    raise BadConfig(
                        f"{self.output}: {link.name} names a run of changes, too, whose stored graph this run may replace; use "
                        f"an output folder for each of both, or remove the link {link.name}"
                    )

    def require_newest(self) -> None:
        """Raise Busy if another run was published in the meantime."""
        if newest(self.output, self.link).name != self.name:
            raise Busy(f"{self.output}: another run was published in the meantime; start again")

    def refuse(self, file: str, digests: Sequence[str], digest: str, config: RunConfig, steps: Steps) -> NoReturn:
        """Raise AlreadyApplied for a file that this state has had; repeat a failed upload of its run before.

        `digests` are those of all files since the source, `digest` is that of the file.
        """
        if config.publish_to and not is_uploaded(self.run, config.publish_to):
            steps("upload", upload, self.run, config.publish_to, config.keep)
        raise AlreadyApplied(
            f"{file}: was already applied, as file {digests.index(digest) + 1} of {len(digests)} since the source was read; "
            f"{self.link} is {self.name}, which has its changes"
        )

    def _step(self, name: str, folders: list[Path]) -> Folder:
        if folder := manifest.find(folders, self.run.manifest.inputs.get(name, ""), checked=False):
            return folder
        raise BadConfig(
            f"{self.run.path}: changes need the {name} that this run was made from, in `steps` of the output folder; another "
            "run has replaced it, or it was removed: run the source again"
        )


def newest(output: Path, link: str) -> PublishedState:
    """The run that a link of an output folder names. Raises BadConfig if there is none, and Damaged without a manifest."""
    named = output / link
    if not named.is_symlink():
        raise BadConfig(f"{named}: is not a link to a run; `graphmill run` makes the first state of a graph")
    return PublishedState(output, link, linked_run(named))


def _up_to_date(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a configuration of an earlier version, which had the rule for parallel arcs in another table."""
    layout, graph = ({**table} if isinstance(table := values.get(name), dict) else table for name in ("layout", "graph"))
    if isinstance(layout, dict) and isinstance(graph, dict) and (rule := layout.pop("parallel_arcs", "lightest")) != "lightest":
        graph.setdefault("parallel", rule)
    return {**values, "layout": layout, "graph": graph}
