"""The facts of a road network that was made from OpenStreetMap, and of places on streets."""

from pipeline.store.facts.base import Facts


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
