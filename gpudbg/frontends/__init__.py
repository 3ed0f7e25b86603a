"""gpudbg.frontends."""
