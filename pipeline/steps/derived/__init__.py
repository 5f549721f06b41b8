"""Data derived from the stored graph and from answers: tables of vertices, change tables, names, and the hierarchy."""
