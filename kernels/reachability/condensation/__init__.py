"""The condensation: the acyclic graph of the strong components."""
