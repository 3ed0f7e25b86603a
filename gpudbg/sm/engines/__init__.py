"""gpudbg.sm.engines."""
