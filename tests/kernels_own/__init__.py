"""Kernels of the project's own: CUDA C++ and PTX sources, NumPy references, cubins."""
