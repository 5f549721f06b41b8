"""Structures for graphs that change, behind one interface (`kernels.library.dynamic.contract.DynamicGraph`)."""
