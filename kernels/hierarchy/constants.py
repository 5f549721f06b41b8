"""Units of scores, and sizes of the searches for witnesses."""

SHORTCUT = 256  # a shortcut per removed arc
LEVEL = 64  # a level
ENTRIES = 8  # vertices that a search may reach for each one that it may settle, besides those that it begins with
ARCS = 64  # arcs of its start that a search for a score begins with, at least if it has so many
THREADS = 128  # of a block
TEAM = 32  # lanes of a search
SEARCHES = 1 << 30  # bytes of a GPU's memory for the searches that run at a time, at most
