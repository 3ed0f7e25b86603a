"""Reference: the gallery of shipped stories, each with its picture and what to see in it."""

from __future__ import annotations

import re

from gpudbg.debug import NOTES, PICTURE, stories
from gpudbg.manual.markdown import code, fence, label


def gallery() -> str:
    """The page."""
    parts = [
        "A story is a small program with a question, its source, a launch table and the commands "
        "that answer it. `gpudbg demo NAME` opens one in the terminal UI, `gpudbg demo NAME "
        "--headless` plays it, `gpudbg demo --copy NAME` writes its files into a folder. They go "
        "from easy to hard.\n",
        "A picture shows the most telling stop: lanes 0 to 31 of its warps. Blue lanes execute, "
        "grey ones wait, empty ones have ended; a lane with an error is red, one at a barrier "
        "yellow.\n",
    ]
    for name, cubin in stories().items():
        notes = (cubin.parent / NOTES).read_text(encoding="utf-8")
        title, _, rest = notes.removeprefix("# ").partition("\n")
        drawn = (cubin.parent / PICTURE).read_text(encoding="utf-8").splitlines()
        parts += [
            label("story", name),
            f"## {title}\n",
            f"```{{image}} ../pictures/story-{name}.svg\n:alt: {_said(drawn)}\n```\n",
            f"{code(f'gpudbg demo {name}')}\n",
            # A line that begins with % is a comment of the site's Markdown.
            re.sub(r"^(\* )?%", r"\1\\%", rest.strip(), flags=re.MULTILINE) + "\n",
        ]
    return "\n".join(parts)


def in_text(page: str) -> str:
    """The page for a terminal: pictures as their lines."""
    for name, cubin in stories().items():
        drawn = (cubin.parent / PICTURE).read_text(encoding="utf-8").splitlines()
        picture = f"```{{image}} ../pictures/story-{name}.svg\n:alt: {_said(drawn)}\n```\n"
        page = page.replace(picture, fence(drawn))
    return page


def _said(drawn: list[str]) -> str:
    return drawn[0].replace("`", "")
