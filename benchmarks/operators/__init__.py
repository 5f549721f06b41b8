"""Graph operators beside hand-written kernels and cuGraph, in the tables of the document that describes them."""
