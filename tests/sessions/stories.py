"""Play the shipped stories; `python -m tests.sessions.stories [--compile] [NAME …]` refreshes them.

Without arguments every story's expected transcript is written anew: read the difference before
committing it, a transcript that changes is a change of what users see.  `--compile` also builds
the cubins from the sources (needs NVRTC); a source's first line may name compiler options.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from pathlib import Path

from gpudbg.debug.story_files import sessions_folder, stories
from gpudbg.frontends.verbs import demo

EXPECTED = "expected.txt"
BUILDS = {
    "two_builds": {"two_builds.cubin": ["-DFMA=0"], "two_builds_fma.cubin": ["-DFMA=1"]},
}
"""Stories with more than one build: cubin -> compiler options."""


def transcript(name: str) -> tuple[str, str, int]:
    """What a story prints, what it complains, and its exit code."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = demo.main([name, "--headless"])
    return out.getvalue(), err.getvalue(), code


def build(folder: Path) -> None:
    """Make a story's cubins from its source."""
    from gpudbg.assembler import assemble_file
    from gpudbg.toolchain.compile import compile_cuda
    from gpudbg.toolchain.options import word_options

    for source in folder.glob("*.sass"):
        if source.with_suffix(".toml").is_file():
            image = assemble_file(source.read_text(), str(source), "sm_50").cubin()
            source.with_suffix(".cubin").write_bytes(image)
    for source in folder.glob("*.cu"):
        first = re.match(r"// compile: (.*)", source.read_text())
        words = first[1].split() if first else []
        targets = BUILDS.get(folder.name, {source.with_suffix(".cubin").name: []})
        for target, more in targets.items():
            # The compiler records its working directory: nobody's machine is in the root.
            with contextlib.chdir("/"):
                made = compile_cuda(source.read_text(), source.name, word_options([*words, *more]))
            (folder / target).write_bytes(made.cubin)


def main(argv: list[str]) -> int:
    names = [a for a in argv if not a.startswith("-")] or list(stories())
    for name in names:
        folder = sessions_folder() / name
        if "--compile" in argv:
            build(folder)
        out, err, code = transcript(name)
        (folder / EXPECTED).write_text(out)
        print(f"{name}: exit code {code}" + (f"; {err.strip()}" if err else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
