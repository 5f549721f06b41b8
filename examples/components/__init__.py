"""Weak and strong components, communities, and closures."""
