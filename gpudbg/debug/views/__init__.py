"""Answers as text, JSON and HTML: pure functions of a session's data."""
