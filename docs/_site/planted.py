"""Mistakes that are planted: the strict build finds each by file and line.

`python docs/_site/planted.py` builds a site of four wrong pages with the settings of `docs/conf.py`;
`make docs-check` runs it, so that a setting that lets mistakes pass is noticed.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

CONF = Path(__file__).resolve().parents[1] / "conf.py"
SETTINGS = f"""
import runpy
globals().update({{k: v for k, v in runpy.run_path({str(CONF)!r}).items() if k[:2] != "__"}})
extensions.remove("gpudbg_site")
exclude_patterns, html_static_path, html_css_files = [], [], []
"""
PAGES = {
    "index.md": "# Pages\n\n```{toctree}\nlink\nlabel\nobject\nnowhere\n```\n",
    "link.md": "# A broken link\n\nSee [it](gone.md).\n\nAnd [a heading](label.md#gone).\n",
    "label.md": "# An unknown label\n\n\nSee {ref}`nobody`.\n",
    "object.md": "# An unknown name\n\nSee {py:class}`gpudbg.Nothing`.\n",
    "alone.md": "# In no list of pages\n",
}
EXPECTED = (
    r"index\.md:\d+: .*nonexisting document 'nowhere'",
    r"link\.md:3: .*gone\.md",
    r"link\.md:5: .*gone",
    r"label\.md:4: .*nobody",
    r"object\.md:3: .*gpudbg\.Nothing",
    r"alone\.md: .*isn't included in any toctree",
)


def main() -> int:
    """Exit code 1 where a mistake was not found."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (PAGES | {"conf.py": SETTINGS}).items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        call = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
        done = subprocess.run([*call, folder, f"{folder}/site"], capture_output=True, text=True)
    missed = [words for words in EXPECTED if not re.search(words, done.stderr)]
    for words in missed:
        print(f"planted mistake not found: {words}\n{done.stderr}", file=sys.stderr)
    if done.returncode == 0:
        print("a site with mistakes was built", file=sys.stderr)
    return int(bool(missed) or done.returncode == 0)


if __name__ == "__main__":
    sys.exit(main())
