"""Levels, interval labels and supports of the nodes of a condensation."""
