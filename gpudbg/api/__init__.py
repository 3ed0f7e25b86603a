"""The Python API: programs that can be launched, opened from a path and flags."""
