"""The part of cuda-bindings that kernels use."""
