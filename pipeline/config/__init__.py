"""What a run, a graph and a cluster may be configured to do."""
