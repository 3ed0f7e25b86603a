"""Kernels of other Python libraries."""
