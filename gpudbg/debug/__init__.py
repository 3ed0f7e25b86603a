"""gpudbg.debug."""
