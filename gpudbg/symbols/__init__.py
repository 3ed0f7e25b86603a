"""Names, types and lines of a program: code listings and the types of variables."""
