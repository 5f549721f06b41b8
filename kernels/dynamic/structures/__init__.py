"""Structures for graphs that change, behind one interface (`kernels.dynamic.contract.DynamicGraph`)."""
