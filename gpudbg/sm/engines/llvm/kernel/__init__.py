"""Code of one kernel: listing, blocks, the parts of the machine that emit it."""
