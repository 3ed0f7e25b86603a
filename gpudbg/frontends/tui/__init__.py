"""The terminal UI: a Textual application over one debug session."""
