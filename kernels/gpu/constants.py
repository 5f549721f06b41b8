"""Constants that the CUDA headers of this folder share with launchers."""

CLUSTER_BLOCKS = 16  # blocks of a team where the GPU has clusters; every H100, H200 and B200 can launch so many
