"""Recordings: a launch, its inputs and what was done with it, as a file that opens anywhere."""
