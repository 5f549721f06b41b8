"""Methods of the source documents on a GPU, kept to compare the kernels with: the same answers, by several kernels per step.

Each module has METHODS and a function `(graph, ..., method)` whose answer is that of the kernel of the same name. The CUDA
sources are next to them; `kernels.gpu.loader` compiles them with the headers of kernels/.
"""

SOURCES = "../benchmarks/published/"  # relative to kernels/, as the loader names its sources
