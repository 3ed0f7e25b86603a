"""What a package index and `pip` are told: metadata, links, and what the extras bring."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\[[^\]]*\]\(([^)]+)\)")


@pytest.fixture(scope="module")
def metadata() -> dict[str, Any]:
    """The project's metadata as the build back end makes it."""
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "metadata"],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_links_of_the_readme_do_not_need_the_repository(metadata: dict[str, Any]) -> None:
    text = metadata["readme"]["text"]
    targets = LINK.findall(text)
    assert [t for t in targets if not t.startswith(("https://", "#"))] == []
    assert any(t.endswith(".svg") for t in targets)


def test_links_of_the_readme_name_files_that_exist() -> None:
    for target in LINK.findall((ROOT / "README.md").read_text()):
        if not target.startswith(("https://", "#")):
            assert (ROOT / target.partition("#")[0]).exists(), target


def test_authors_classifiers_and_addresses_are_there(metadata: dict[str, Any]) -> None:
    assert metadata["authors"]
    assert {"Homepage", "Source", "Issues", "Changelog"} <= set(metadata["urls"])
    assert "Typing :: Typed" in metadata["classifiers"]


def test_the_tests_extra_brings_every_other_extra() -> None:
    """Else a test is skipped on a fresh machine; what builds the site no test needs."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    brought = set(re.findall(r"\w+", " ".join(x for x in extras["test"] if "gpudbg[" in x)))
    assert set(extras) - {"test", "docs"} <= brought


def test_what_a_repository_is_asked_for_is_there() -> None:
    for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE", "README.md"):
        assert (ROOT / name).stat().st_size > 500, name


def test_the_wheel_holds_what_the_code_reads_beside_itself() -> None:
    """Stylesheets, instruction tables and schemas lie beside the modules that read them."""
    packed = {f.distribution_path for f in WheelBuilder(str(ROOT)).recurse_included_files()}
    ours = [p for p in (ROOT / "gpudbg").rglob("*") if p.suffix in (".tcss", ".tbl", ".json")]
    assert len({p.suffix for p in ours}) == 3
    assert [p for p in ours if str(p.relative_to(ROOT)) not in packed] == []


def test_styles_are_in_stylesheets() -> None:
    """No screen and no widget holds CSS of its own."""
    tui = ROOT / "gpudbg" / "frontends" / "tui"
    holders = [p.name for p in tui.rglob("*.py") if re.search(r"\b(DEFAULT_)?CSS\b", p.read_text())]
    assert holders == []
