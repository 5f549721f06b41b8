"""Scores, spanning forests and flows."""
