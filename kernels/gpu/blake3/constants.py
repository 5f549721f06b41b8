"""Constants that blake3.cu shares with its launcher."""

BLAKE3_THREADS = 128  # of a block
BLAKE3_BLOCK_WORDS = 16  # 32-bit words that are compressed at a time
BLAKE3_CHUNK_WORDS = 256  # of a leaf of the tree
BLAKE3_DIGEST_WORDS = 8
