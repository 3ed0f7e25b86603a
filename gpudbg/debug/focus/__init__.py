"""The warp and lane that questions are about: hardware, CUDA and IDE coordinates."""

from gpudbg.doors import door

__getattr__, __dir__ = door(__name__, __file__)
