"""Command-line verbs that need no terminal UI: one module each, named after the verb."""
