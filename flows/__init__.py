"""Prefect, and nothing else: flows and tasks that pass manifests, never arrays."""
