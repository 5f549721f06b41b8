"""Whole runs, from the start of the process to the published tables, next to the scripts that a user would write instead."""
