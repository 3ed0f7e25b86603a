"""Examples are played, run by a named test, or stand in one list with the reason why not."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from gpudbg import cli
from tests.doc_blocks import ROOT
from tests.manual.examples import BY_OTHERS, NOT_RUN, RUN_BY, Example, documents, left
from tests.repl import test_docstrings

LEFT = list(left())


def _key(example: Example) -> str | None:
    known = [key for key in (*BY_OTHERS, *NOT_RUN) if example.first.startswith(key)]
    return max(known, key=len, default=None)


def test_every_example_is_run_or_in_the_list() -> None:
    assert [f"{e.page}:{e.line}: {e.first}" for e in LEFT if _key(e) is None] == []


def test_the_list_names_nothing_that_is_not_there() -> None:
    """A line of it goes when its example goes; tests that it names exist."""
    assert {*BY_OTHERS, *NOT_RUN} - {_key(e) for e in LEFT} == set()
    for file in {*BY_OTHERS.values(), *RUN_BY.values()}:
        assert (ROOT / file).is_file(), file


def test_documents_with_played_blocks_are_many() -> None:
    """The rule sees the project's documents, not an empty folder."""
    names = {page.relative_to(ROOT).as_posix() for page in documents()}
    assert {"README.md", "docs/mcp.md", "docs/howto/ci.md", "plugins/README.md"} <= names
    assert len(names) > 40


def test_examples_of_docstrings_are_run() -> None:
    """`tests/repl/test_docstrings.py` looks into every module that has one."""
    looked = {module.__name__ for module in test_docstrings.modules()}
    found = {
        ".".join(file.relative_to(ROOT).with_suffix("").parts)
        for file in (ROOT / "gpudbg").rglob("*.py")
        if re.search(r"^ +>>> ", file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert found - looked == set()


@pytest.mark.parametrize("example", [e for e in LEFT if e.kind in ("json", "toml")], ids=str)
def test_data_can_be_read(example: Example) -> None:
    assert json.loads(example.text) if example.kind == "json" else tomllib.loads(example.text)


def test_the_surface_of_the_readme_is_exported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (line,) = [e.text for e in LEFT if e.text.startswith("gpudbg export surface")]
    monkeypatch.chdir(ROOT)
    words = line.split()[1:]
    words[words.index("out.png")] = str(tmp_path / "out.png")
    assert cli.main(words) == 0
    assert (tmp_path / "out.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.full(instead="test_every_example_is_run_or_in_the_list")
def test_jobs_of_ci_do_what_their_page_says(tmp_path: Path) -> None:
    """The shell of the GitHub step, of the file to copy, of the GitLab job: a finding is exit 1."""
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    for name in ("first_steps", "hidden_race"):
        for kind in (".cu", ".toml"):
            shutil.copy(ROOT / "sessions" / name / f"{name}{kind}", kernels)
    page = (ROOT / "docs/howto/ci.md").read_text(encoding="utf-8")
    script = re.search(r"run: \|\n((?: {10}.*\n)+)", page)
    assert script is not None
    assert _shell(script[1], tmp_path) == 1
    clean, racy = json.loads((tmp_path / "kernels.sarif").read_text(encoding="utf-8"))["runs"]
    assert clean["results"] == []
    assert [r["ruleId"] for r in racy["results"]] == ["race"]
    job = re.search(r"- (gpudbg check kernels.*)", page)
    assert job is not None
    assert _shell(job[1], tmp_path) == 1
    assert 'failures="1"' in (tmp_path / "report.xml").read_text(encoding="utf-8")


@pytest.mark.full(instead="test_every_example_is_run_or_in_the_list")
def test_the_repository_of_the_demo_passes_its_job(tmp_path: Path) -> None:
    demo = tmp_path / "demo"
    shutil.copytree(ROOT / "docs/ci/demo", demo)
    job = (demo / ".github/workflows/gpu-checks.yml").read_text(encoding="utf-8")
    script = re.search(r"run: \|\n((?: {10}.*\n)+)", job)
    assert script is not None
    assert _shell(script[1], demo) == 0
    assert len(json.loads((demo / "kernels.sarif").read_text(encoding="utf-8"))["runs"]) == 3
    assert _shell("python -m pytest -q -p no:cacheprovider tests", demo) == 0
    kernel = demo / "kernels" / "tile_sum.cu"
    kernel.write_text(kernel.read_text().replace("  __syncthreads();\n  for", "  for"))
    assert _shell(script[1], demo) == 1
    assert _shell("python -m pytest -q -p no:cacheprovider tests", demo) == 1


def _shell(script: str, folder: Path) -> int:
    """Exit code of a script, with this project's gpudbg on the path."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-c", script], cwd=folder, env=os.environ | {"PATH": path},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    return done.returncode


@pytest.mark.full(instead="test_every_example_is_run_or_in_the_list")
def test_commands_of_the_page_on_checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line, on the story `hidden_race` under the names that the page uses."""
    (tmp_path / "kernels").mkdir()
    for kind in (".cu", ".cubin", ".toml"):
        shutil.copy(
            ROOT / "sessions/hidden_race" / f"hidden_race{kind}", tmp_path / f"kernel{kind}"
        )
        if kind != ".cubin":
            shutil.copy(tmp_path / f"kernel{kind}", tmp_path / "kernels" / f"kernel{kind}")
    monkeypatch.chdir(tmp_path)
    lines = [e.text.partition("#")[0].split() for e in LEFT if e.page == "docs/checks.md"]
    assert len(lines) == 5
    codes = {" ".join(words): cli.main(words[1:]) for words in lines if "--dask" not in words}
    assert set(codes.values()) == {0, 1}, codes
    assert [line for line, code in codes.items() if code == 0] == [
        "gpudbg check kernel.cubin --quick"
    ]
