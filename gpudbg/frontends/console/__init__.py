"""The line console: commands from `-ex`, `-x` files and standard input, without a terminal UI."""
