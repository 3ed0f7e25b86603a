"""`gpudbg mcp`: the debugger as tools for assistants, by the Model Context Protocol on stdio.

`server.py` speaks the protocol (the `mcp` package) and knows the tools' signatures; what they do
runs in a second process (`worker.py`) that can read the folder it was started for and nothing else
of a user's, and that is ended when a call takes too long or too much memory.
"""
