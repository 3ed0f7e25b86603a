"""Kernels of other Python libraries, run here: Numba, Triton, CuPy, PyCUDA, PyTorch's inline CUDA.

A library's own compiler makes PTX or a cubin for the device's architecture, without a GPU;
`launcher` runs it with arrays of the host in place.
"""

from gpudbg.doors import door

__getattr__, __dir__ = door(__name__, __file__)
