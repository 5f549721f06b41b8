"""Slotted pages: lists of neighbours in pages of a fixed number of words, with free words for growth."""
