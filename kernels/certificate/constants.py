"""Numbers that Python and CUDA share."""

THREADS = 512  # in a block of every certificate's kernels
