"""Write a small made-up town as OpenStreetMap XML: `python data/town.py out/town.osm`, which `make demo-osm` reads.

Blocks of 100 metres around a river with three bridges, avenues every fifth street, one-way streets, a ring road and a hill path.
"""

import math
import sys
from collections.abc import Iterator
from pathlib import Path

SIDE = 50  # streets each way
BRIDGES = (8, 25, 41)
RIVER = 20  # the row of blocks through which it flows
WEST, SOUTH = 9.5, 47.1
EAST_OF, NORTH_OF = 100 / (111_195 * math.cos(math.radians(SOUTH))), 100 / 111_195  # degrees of 100 metres
RING, STEPS = 1.15, 120  # of the ring road: its radius, of half a side, and its points


def place(column: float, row: float) -> tuple[float, float]:
    """Longitude and latitude: streets bend a little, as in towns that have grown."""
    bend = 0.6 * math.sin(row / 7), 0.6 * math.sin(column / 9)
    return WEST + (column + bend[0]) * EAST_OF, SOUTH + (row + bend[1]) * NORTH_OF


def streets() -> Iterator[tuple[list[tuple[float, float]], dict[str, str]]]:
    """Each street as the columns and rows along it, and its tags."""
    for line in range(SIDE):
        avenue = line % 5 == 0
        tags = {"highway": "secondary" if avenue else "residential", "name": f"{'Avenue' if avenue else 'Street'} {line + 1}"}
        tags |= {"maxspeed": "50"} if avenue else {"maxspeed": "30"}
        tags |= {"oneway": "yes"} if line % 5 == 2 else {"oneway": "-1"} if line % 5 == 3 else {}
        if line != RIVER:
            yield [(float(column), float(line)) for column in range(SIDE)], tags
        column = {**tags, "name": f"{tags['name']} North"}
        north, south = range(RIVER + 1, SIDE), range(RIVER)
        if line in BRIDGES:
            yield [(float(line), float(row)) for row in (*south, *north)], {**column, "bridge": "yes", "oneway": "no"}
        else:
            yield from (([(float(line), float(row)) for row in rows], column) for rows in (south, north))
    middle, radius = (SIDE - 1) / 2, RING * SIDE / 2
    angles = [2 * math.pi * step / STEPS for step in range(STEPS)]
    ring = [(middle + 1.3 * radius * math.cos(angle), middle + 1.3 * radius * math.sin(angle)) for angle in angles]
    yield [*ring, ring[0]], {"highway": "trunk", "name": "Ring", "maxspeed": "80"}
    for step, end in ((0, (SIDE - 1, 25)), (STEPS // 4, (25, SIDE - 1)), (STEPS // 2, (0, 25)), (3 * STEPS // 4, (25, 0))):
        yield [ring[step], (float(end[0]), float(end[1]))], {"highway": "primary", "maxspeed": "60"}
    path = [(SIDE - 1 + step / 2, 40 + 2 * math.sin(step)) for step in range(12)]
    yield [(SIDE - 1.0, 40.0), *path[1:]], {"highway": "residential", "name": "Hill Lane", "maxspeed": "20"}


def main(out: Path) -> None:
    """Write the file."""
    numbers: dict[tuple[float, float], int] = {}
    ways = list[str]()
    for number, (points, tags) in enumerate(streets(), 1):
        refs = "".join(f'<nd ref="{numbers.setdefault(point, len(numbers) + 1)}"/>' for point in points)
        ways.append(f'<way id="{number}">{refs}' + "".join(f'<tag k="{k}" v="{v}"/>' for k, v in tags.items()) + "</way>\n")
    lines = ['<osm version="0.6" generator="data/town.py">\n']
    for point, number in numbers.items():
        lon, lat = place(*point)
        lines.append(f'<node id="{number}" lon="{lon:.7f}" lat="{lat:.7f}"/>\n')
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("".join([*lines, *ways, "</osm>\n"]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
