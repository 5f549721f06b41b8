"""Shared by weak components, strong components and the spanning forest: union-find, and names of components."""
