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
from dataclasses import dataclass
from pathlib import Path

from gpudbg.debug.story_files import COMMANDS, PICTURE, sessions_folder, stories
from gpudbg.frontends.verbs import demo
from tests.sessions.pictures import Album, shortened

EXPECTED = "expected.txt"
BUILDS = {
    "two_builds": {"two_builds.cubin": ["-DFMA=0"], "two_builds_fma.cubin": ["-DFMA=1"]},
}
"""Stories with more than one build: cubin -> compiler options."""


@dataclass(frozen=True)
class Played:
    """What a story prints, what it complains, its exit code, and its picture."""

    out: str
    err: str
    code: int
    picture: str


def played(name: str) -> Played:
    """Play a story as `gpudbg demo NAME --headless` does."""
    cubin, album = stories()[name], Album()
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        if (cubin.parent / COMMANDS).is_file():
            code = demo.play(cubin, album.take)
        else:
            code = demo.main([name, "--headless"])
    # A script says in its first lines what it has found.
    said = out.getvalue().partition("\n\n")[2].splitlines()[:4]
    lines = album.lines or [shortened(line) for line in said]
    return Played(out.getvalue(), err.getvalue(), code, "".join(f"{line}\n" for line in lines))


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
        story = played(name)
        (folder / EXPECTED).write_text(story.out, encoding="utf-8")
        (folder / PICTURE).write_text(story.picture, encoding="utf-8")
        print(f"{name}: exit code {story.code}" + (f"; {story.err.strip()}" if story.err else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
