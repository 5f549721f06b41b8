"""Publication of a run: start with `publish`; the other modules are its parts."""
