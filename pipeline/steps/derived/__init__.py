"""Data derived from the stored graph: tables of vertices, made from proved answers, and the hierarchy."""
