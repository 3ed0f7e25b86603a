"""What happened in a run: traces, and the timeline of warps by tick."""
