"""Integers that decay.cu and its launchers share."""

CUMULATIVE, EXPONENTIAL, GRAVITY = range(3)  # kinds of decay
PARTS = 4  # integers of BITS bits each that a term is summed as: terms may be 2^-71 of the largest one without being cut off
EXPONENTS = 14  # terms of the series of e^r
LOGARITHMS = 12  # of that of the logarithm
LEAST_EXPONENT = -1021  # powers of two below it, and what they stand for, count as 0
