"""User functions: plain Python that is checked, typed, and compiled for the CPU and for the GPU from one tree."""
