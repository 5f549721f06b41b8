"""Constants that sssp.cu and its launcher share."""

PROGRESS_WORDS = 2  # 64-bit words of struct Progress
