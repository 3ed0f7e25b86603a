"""Real clients run in `make test-clients` only: they are slow and may not be installed."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("GPUDBG_CLIENTS") else ["test_*.py"]
