"""Breakpoints and watchpoints: their table, what meets them, events for scripts."""
