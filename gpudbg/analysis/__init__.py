"""What code says about itself without running.

Control flow, liveness, hazards of the pipeline, and what 32 lanes have in common.
"""
