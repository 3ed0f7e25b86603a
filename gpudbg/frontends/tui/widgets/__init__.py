"""Panes of the terminal UI: each a pure builder of rows, and a line widget that draws them."""
