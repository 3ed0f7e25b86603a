"""How Sphinx builds the site: `make docs`."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE / "_site")]

import gpudbg  # noqa: E402

project = "gpudbg"
author = "The gpudbg authors"
copyright = author  # noqa: A001 - Sphinx's name
release = version = gpudbg.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "gpudbg_site",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["**.ipynb", "_site", "ci", "editors/vscode"]
myst_enable_extensions = ["attrs_inline", "colon_fence"]
myst_heading_anchors = 3
nitpicky = True
# Attributes of one name in several classes: Sphinx cannot tell which a docstring means.
suppress_warnings = ["ref.python"]
autodoc_default_options = {"undoc-members": False}
autodoc_typehints = "signature"
autodoc_member_order = "groupwise"
napoleon_numpy_docstring = False
napoleon_attr_annotations = False
napoleon_use_ivar = True
python_use_unqualified_type_names = True
copybutton_prompt_text = r"\$ |gpudbg> |>>> |\.\.\. "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = "gpudbg"
html_static_path = ["_site/static"]
html_css_files = ["gpudbg.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
pygments_style = "default"
pygments_dark_style = "github-dark"
