"""Folders on the disk: manifests, the edge list, the stored graph and the reachability index."""
