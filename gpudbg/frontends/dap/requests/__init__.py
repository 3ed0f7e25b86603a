"""Requests of the Debug Adapter Protocol by family."""
