"""Levels, distances, shortest paths, and how many of them pass a row."""
