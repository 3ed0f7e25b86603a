"""What each way of starting leaves alone: imports are start-up time, and these are never needed.

`make bench` has the times.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import launching

ROOT = Path(__file__).resolve().parents[2]
FIRST = str(launching.FIRST)

SCREENS = "textual rich prompt_toolkit IPython gpudbg.frontends.tui gpudbg.frontends.repl"
COMPILERS = "llvmlite gpudbg.sm.engines.llvm.build ctypes.util subprocess gpudbg.toolchain.compile"
RARE = (
    "construct importlib.metadata email asyncio logging gpudbg.isa.spa5.schema "
    "gpudbg.analysis.hazards gpudbg.assembler gpudbg.formats.fatbin "
    "gpudbg.isa.volta gpudbg.analysis.call_frames gpudbg.sm.fragments gpudbg.sm.engines.wgmma"
)
IMAGES = "gpudbg.sm.images.surfaces gpudbg.sm.images.textures gpudbg.mem.surface"
MACHINE = "gpudbg.sm.begin gpudbg.sm.grid gpudbg.isa gpudbg.regs.port gpudbg.expr"

WAYS = {
    "import": ("import gpudbg", "numpy elftools gpudbg.debug"),
    "version": ("from gpudbg.cli import main; main(['--version'])", "numpy elftools gpudbg.debug"),
    "load": (
        f"import gpudbg; gpudbg.load({FIRST!r})",
        f"{SCREENS} {COMPILERS} {RARE} {IMAGES} {MACHINE} gpudbg.plugin gpudbg.debug.session",
    ),
    "batch": (
        f"from gpudbg.cli import main; main(['--batch', {FIRST!r}])",
        f"{SCREENS} {COMPILERS} {RARE} {IMAGES} gpudbg.plugin gpudbg.debug.commands",
    ),
    "run": (
        f"from gpudbg.cli import main; main(['run', '--engine', 'step', {FIRST!r}])",
        f"{SCREENS} {COMPILERS} {RARE} {IMAGES} gpudbg.plugin",
    ),
    "tui": (
        "import gpudbg.frontends.tui.app",
        "prompt_toolkit IPython llvmlite construct importlib.metadata gpudbg.toolchain.compile "
        "gpudbg.analysis.hazards gpudbg.assembler gpudbg.frontends.mi.server",
    ),
}
"""Way of starting -> Python text, modules that must not be loaded by it."""


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("way", WAYS)
def test_start_up_loads_nothing_it_does_not_need(way: str) -> None:
    text, unwanted = WAYS[way]
    program = f"{text}\nimport sys; print('\\n', *sys.modules, sep='\\n', file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    loaded = set(done.stderr.split())
    assert "gpudbg" in loaded
    assert loaded & set(unwanted.split()) == set()


FIRST_LINE = """
import io, sys, types
from gpudbg.cli import main

class Terminal(io.StringIO):
    loaded = None
    def isatty(self):
        return True
    def write(self, text):
        if self.loaded is None:
            self.loaded = set(sys.modules)
        return super().write(text)

seen = []
screen = types.ModuleType("screen")
screen.main = lambda args: seen.append(sys.stdout.getvalue()) or 0
sys.modules["gpudbg.frontends.verbs.debug"] = screen
sys.stdin = sys.stdout = out = Terminal()
main(["some/first_steps.cubin", "--grid", "4"])
assert seen == ["gpudbg: opening first_steps.cubin \u2026"], seen
assert out.getvalue().endswith("\\r\\x1b[K")
assert not out.loaded & {"numpy", "textual", "rich", "elftools", "gpudbg.debug", "argparse"}
out = sys.stdout = Terminal()
main(["--batch", "some/first_steps.cubin"])
assert out.getvalue() == ""
"""


def test_the_first_line_is_written_before_anything_large_is_imported() -> None:
    environment = {**os.environ, "TERM": "xterm-256color"}
    environment.pop("TEXTUAL_DRIVER", None)
    done = subprocess.run(
        [sys.executable, "-c", FIRST_LINE],
        capture_output=True, text=True, timeout=120, check=False, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]


THREADS = """
import os
from gpudbg.frontends.starting import THREADS, load_numpy
load_numpy()
assert len(os.listdir("/proc/self/task")) == 1
assert not set(THREADS) & set(os.environ)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
def test_front_ends_start_no_threads_for_linear_algebra() -> None:
    wanted = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "OMP_NUM_THREADS")
    environment = {name: value for name, value in os.environ.items() if name not in wanted}
    done = subprocess.run(
        [sys.executable, "-c", THREADS],
        capture_output=True, text=True, timeout=120, check=False, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
