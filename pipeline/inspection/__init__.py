"""Inspection of published runs, and of a run before it begins."""
