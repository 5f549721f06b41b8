"""The facts of a road network that was made from OpenStreetMap, and of places on streets."""

from pipeline.store.facts.base import Facts


class UpdateFacts(Facts):
    """What files of changes have done to an extract: how many elements they have put into it, and deleted."""

    files: int  # since the extract
    nodes: int
    ways: int
    relations: int
    deleted: int
    absent: int  # deletions of elements that the extract lacks
    older: int  # elements whose version in the extract is newer, which stays
    timestamp: str | None = None  # of the newest element; absent unless they have some


class OvertureFacts(Facts):
    """What segments of Overture have besides, see `pipeline.ingest.formats.overture`."""

    transitions: int  # that are prohibited, for whomever
    conditional: int  # rules for some times or sizes of vehicles only, which are left out
    closed_parts: int  # of segments that are streets elsewhere
    apart: int  # segments on which a connector is at another place than on the first one with it


class TurnFacts(Facts):
    """How paths may turn, see `pipeline.steps.turns`."""

    relations: int  # turn restrictions in the file: relations, or prohibited transitions
    restrictions: int  # movements that they forbid or prescribe, and that paths obey
    left: dict[str, int]  # relations, or movements of one, that paths need not obey, by the reason
    costs: dict[str, int] | None = None  # absent without any: of movements, in milliseconds or millimetres

    @property
    def matter(self) -> bool:
        """Whether paths obey restrictions, or turns cost something."""
        return bool(self.restrictions or self.costs)


class RoadFacts(Facts):
    """Which ways became arcs, and what was left out; see `pipeline.ingest.roads.chains` for runs and chains."""

    profile: str
    weight: str  # "time" or "distance"
    ways: int  # that are streets
    ways_left: dict[str, int]  # that are none, by the reason
    chains: int  # between crossings and ends: each is an arc in the directions in which it is open
    loops: int  # chains that end where they begin
    nodes: int  # that ways name
    missing_nodes: int  # that are not in the file
    barriers: int  # nodes that close the ways on which they are
    cut_ways: int  # with a missing node or a barrier
    repeated_nodes: int  # that came twice in a row in a way
    duplicate_nodes: int  # that came again in the file; the first counts
    duplicate_ways: int  # the same for ways
    islands: int  # weak components that were left out because they are small
    island_vertices: int  # of these
    # When the source was current, and the number of the last change that it has; absent unless it says so.
    timestamp: str | None = None
    sequence: int | None = None
    updates: UpdateFacts | None = None  # absent unless changes were applied
    overture: OvertureFacts | None = None  # absent unless the source has segments of Overture
    turns: TurnFacts | None = None  # absent if the file says nothing of turns, or paths need not obey it, and they cost nothing
    rules: list[str]  # that were proved
    seconds: float  # which that took


class SplitFacts(Facts):
    """How crossings were split for turns, see `pipeline.steps.turns`."""

    copies: int  # vertices that were added
    rules: list[str]  # that were proved
    seconds: float  # which that took


class AttachFacts(Facts):
    """Places that were attached to streets, see `pipeline.steps.attaching`."""

    places: int  # with different coordinates
    vertices: int  # new ones, at feet within streets
    streets: int  # that were divided
    at_crossings: int  # places whose foot is at an end of a street
    farthest: float  # metres from a place to its foot
    rules: list[str]  # that were proved
    seconds: float  # which that took
