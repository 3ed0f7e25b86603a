"""gpudbg.formats."""
