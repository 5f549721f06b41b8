"""What a run may not ask of a graph whose turns matter: answers about paths that do not know of turns."""

from kernels.registry import BY_NAME
from pipeline.config.run import RunConfig
from pipeline.errors import BadConfig
from pipeline.store.facts import EdgeFacts
from pipeline.store.manifest import Folder

_REMEDY = "leave it out, or set restrictions = false and no turns below [graph.osm]"


def require_obeyed(config: RunConfig, edges: Folder) -> None:
    """Raise BadConfig for a stage, queries or a product whose paths would take forbidden turns."""
    if not EdgeFacts.of(edges).has_turns:
        return
    for name in config.stages:
        if BY_NAME[name].passes_crossings:
            raise _disobeys(f"stage {name}", edges)
    if config.queries and config.queries.witness:
        raise _disobeys("queries.witness", edges)


def _disobeys(what: str, edges: Folder) -> BadConfig:
    source = EdgeFacts.of(edges).source.path
    return BadConfig(f"{what} does not know of the turn restrictions and costs of {source}, and its paths would; {_REMEDY}")
