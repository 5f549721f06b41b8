"""Configuration of a run, its graph and its cluster."""
