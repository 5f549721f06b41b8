"""Places `LON,LAT` that users name instead of vertices: each is the vertex nearest to it, within a limit."""
