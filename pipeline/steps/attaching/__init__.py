"""Places on streets: before the layout, each place becomes a vertex at its foot, the nearest point of a permitted street.

The street is divided there: its arc of weight W becomes arcs of the weights in front of the foot and behind it, whose sum is W,
in each direction in which it is open. So all stages and products see places as vertices, and need not know of streets.

step.py       the step: a new edge list, with coordinates and streets, in the place of that of the source
points.py     the places that a configuration or a command names
lines.py      the streets that may be divided, and their lines
nearest.py    the nearest point of many lines
dividing.py   the parts of streets
turns.py      what turns need to know of them
storing.py    the files of the new edge list
proof/        what was stored is right, by other methods
ground.py     the vertices at the feet of places
"""

from pipeline.store.deltas import ATTACHED

STEP = ATTACHED
FEET = "feet.parquet"  # of an attached edge list: the foot of each place
