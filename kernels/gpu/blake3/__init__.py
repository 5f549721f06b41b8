"""BLAKE3 on the GPU, of files whose bytes are those of an array there."""
