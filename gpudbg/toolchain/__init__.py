"""CUDA C++ and PTX to cubins; what a source says of its kernels' parameters."""

from gpudbg.doors import door

__getattr__, __dir__ = door(__name__, __file__)
