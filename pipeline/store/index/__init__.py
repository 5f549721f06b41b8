"""The reachability index on the disk: its folder, and its arrays."""
