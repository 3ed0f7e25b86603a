"""The Python prompt: a session, NumPy and the debugger's commands side by side."""
