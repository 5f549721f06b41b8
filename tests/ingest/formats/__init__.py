"""Formats and archives as other programs write them."""
