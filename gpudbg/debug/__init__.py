"""A debug session: a launch that can be stopped, inspected, changed and stepped."""
