"""What code says about itself without running.

Control flow, liveness, hazards of the pipeline, and what 32 lanes have in common.
"""

from gpudbg.doors import door

__getattr__, __dir__ = door(__name__, __file__)
