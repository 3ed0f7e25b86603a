"""gpudbg.frontends.tui."""
