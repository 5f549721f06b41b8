"""Units of scores, and sizes of the searches for witnesses."""

SHORTCUT = 256  # a shortcut per removed arc
LEVEL = 64  # a level
ENTRIES = 8  # vertices that a search may reach for each one that it may settle, besides those that it begins with
THREADS = 128  # of a block
TEAM = 32  # lanes of a search
SEARCHES = 1 << 30  # bytes of a GPU's memory for the searches that run at a time, at most
# Of what a search for scores has reached: that no shortcut leads to it. Numbers from 0 on are those of the row's arcs with which
# a path of two arcs begins; those from OWN downwards, OWN - arc, of a row's arc itself.
NONE, OWN = -1, -2
