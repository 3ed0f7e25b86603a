"""`python -m gpudbg`."""

import sys

from gpudbg.cli import main

sys.exit(main())
