"""Overture's segments: arcs between connectors."""
