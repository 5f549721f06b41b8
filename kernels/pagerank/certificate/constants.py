"""Constants that the CUDA source and its launcher share."""

GATHERING = 256  # threads of a block
