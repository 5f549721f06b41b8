"""Integers that the CPU's and the GPU's passes share."""

FORWARD, BACKWARD, BOTH = 0, 1, 2  # roles of rows: tails, heads, or rows of a graph with the reverse of every arc
TURNED = 3  # a role of edges only: each is an arc to the greater id
# Of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014); the factor is odd
MIX_1, MIX_2 = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
WEIGHT_FACTOR = 0x9E3779B97F4A7C15
