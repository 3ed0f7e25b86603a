"""Host programs: what they call of CUDA, carried out on an emulated device.

A C library stands in for libcuda and libcudart in the host program and passes calls on; `server`
takes them, `calls` has what each does, `table` lists them.
"""

from gpudbg.doors import door

__getattr__, __dir__ = door(__name__, __file__)
