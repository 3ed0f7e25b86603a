"""A GPU as its host sees it: buffers, textures, surfaces, arrays of other libraries."""

from gpudbg.doors import door

__getattr__, __dir__ = door(__name__, __file__)
