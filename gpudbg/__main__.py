"""`python -m gpudbg`."""

import os
import sys

# `-m` looks for modules in the working directory first: what lies there is nobody's to run.
_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if not sys.flags.safe_path and sys.path and os.path.abspath(sys.path[0] or ".") != _OWN:
    del sys.path[0]

from gpudbg.cli import main  # noqa: E402

sys.exit(main())
