"""OpenStreetMap files: PBF and XML, as pyosmium writes them."""
