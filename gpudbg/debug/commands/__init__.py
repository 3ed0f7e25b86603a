"""The console's commands, one family a module; `registry.load()` gives the table."""
