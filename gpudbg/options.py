"""Options as rows: dotted name, type, default and help, in one table."""

from __future__ import annotations
