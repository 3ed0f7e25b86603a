"""From a file to a program: read, compiled, assembled, or in a format that a plugin reads."""
