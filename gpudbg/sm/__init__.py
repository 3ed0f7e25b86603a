"""gpudbg.sm."""
