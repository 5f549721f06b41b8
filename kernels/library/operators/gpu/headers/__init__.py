"""Parts of the kernels of this folder's parent."""
