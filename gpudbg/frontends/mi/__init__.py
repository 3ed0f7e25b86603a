"""gpudbg.frontends.mi."""
