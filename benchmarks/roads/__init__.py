"""Road networks beside independent routers: Valhalla, Routino, and OSMnx with NetworkX."""
