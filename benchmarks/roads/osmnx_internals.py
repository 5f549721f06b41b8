"""What the comparison uses of OSMnx that OSMnx does not document: here only, and tried with OSMnx 2.1.1.

`tests/ingest/osm/test_routers.py` fails if OSMnx changes any of it.
"""

import osmnx


def filter_of(network: str) -> str:
    """The conditions in Overpass's language that a way has to meet to belong to a kind of network."""
    conditions: str = osmnx._overpass._get_network_filter(network)
    return conditions


def keep_tag(key: str) -> None:
    """Keep a key of ways in graphs that OSMnx reads from now on."""
    if key not in osmnx.settings.useful_tags_way:
        osmnx.settings.useful_tags_way = [*osmnx.settings.useful_tags_way, key]
