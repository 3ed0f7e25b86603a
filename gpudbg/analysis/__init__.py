"""What code says about itself without running.

Liveness, hazards of the pipeline, calls, and how 32 lanes look; control flow and what lanes have in
common, which engines need as well, lie in `gpudbg.sm.cfg` and `gpudbg.sm.lanes`.
"""

from gpudbg.doors import door

__getattr__, __dir__ = door(__name__, __file__)
