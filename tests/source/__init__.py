"""Source level: variables, scopes and frames of -G builds against what gdb said of a host build."""
