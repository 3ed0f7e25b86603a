"""MI commands, one family a module; `families.load()` gives the table."""
