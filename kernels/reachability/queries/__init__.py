"""Queries: what two labels decide, and searches for the rest."""
