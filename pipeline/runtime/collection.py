"""Garbage collection of processes that import much and leave little garbage."""

import gc


def collect_seldom() -> None:
    """Collect after 50,000 new objects: by Python's default, imports and steps would spend a fifth of their time on it."""
    gc.set_threshold(50_000)
