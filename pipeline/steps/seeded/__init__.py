"""Stages with seeds: the vertices that a run names, and the rankings from them."""
