"""Engines: `step` executes one instruction of a warp at a time, `llvm` runs compiled code."""
