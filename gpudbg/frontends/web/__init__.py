"""The terminal UI in a browser."""
