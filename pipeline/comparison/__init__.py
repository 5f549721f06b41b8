"""Differences between two versions of tables: counts, examples, and change tables."""
