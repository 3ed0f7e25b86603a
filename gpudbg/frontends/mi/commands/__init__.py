"""MI commands, one family a module; `registry.load()` gives the table."""
