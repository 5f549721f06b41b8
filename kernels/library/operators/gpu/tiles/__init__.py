"""`advance` in the order of tiles: blocks hold in shared memory what captured arrays have for the heads of a tile."""
