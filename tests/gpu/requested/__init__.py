"""Algorithms whose stages run on request only."""
