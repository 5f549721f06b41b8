"""Units of scores."""

SHORTCUT = 256  # a shortcut per removed arc
LEVEL = 128  # a level
