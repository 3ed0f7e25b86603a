"""One table of options: flags, keywords, settings and their page are made from `gpudbg.options`."""

from __future__ import annotations

import dataclasses
import inspect
import re
import shutil
import subprocess
from typing import Any, get_args

import pytest

import gpudbg
from gpudbg.errors import UsageError
from gpudbg.frontends.verbs.check import FORMATS
from gpudbg.manual.man import man_page
from gpudbg.manual.reference.command_line import command_line
from gpudbg.options import OPTIONS, OptionKind, OptionScope, OptionSpec, check_option
from gpudbg.sanitizer.findings import CHECKS, SEVERITIES, Severity
from gpudbg.sanitizer.settings import DEFAULTS, CheckSettings
from gpudbg.toolchain import CompileOptions
from tests.house import sources

CHECKED = [row for row in OPTIONS if row.scope is OptionScope.CHECK]


def _declarations(source: sources.Source) -> list[str]:
    """Calls that give argparse a flag or an operand."""
    return re.findall(r"\.add_argument\(", source.text)


_declared = sources.collected(_declarations)


def test_no_flag_is_declared_elsewhere() -> None:
    """Only `options/flags.py` speaks to argparse; plugins have a table of their own."""
    assert list(_declared()) == ["gpudbg/options/flags.py"]


def test_pages_have_every_flag() -> None:
    """The reference and `man gpudbg`; ranges, choices and defaults stand beside the flag."""
    page, man = command_line(), man_page("0").replace("\\-", "-")
    for row in OPTIONS:
        for flag in row.flags if row.verbs else ():
            assert re.search(rf"`[^`]*{re.escape(flag)}\b[^`]*`", page), flag
            assert f"\\fB{flag}\\fR" in man, flag
        if row.flags and row.kind is OptionKind.WHOLE and row.most.bit_length() <= 64:
            assert f"a whole number, {row.range}" in page, row.name
        assert all(f"`{word}`" in page for word in row.choices if row.flags), row.name


def test_the_manual_page_has_no_mistake_of_roff() -> None:
    """What `man` would complain about: groff prints warnings on standard error."""
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("groff is not here")
    said = subprocess.run(
        [groff, "-ww", "-man", "-Tutf8"], input=man_page("0"), capture_output=True, text=True
    )
    assert (said.returncode, said.stderr) == (0, "")
    assert "User Commands" in said.stdout


def test_keywords_of_a_check_are_its_rows() -> None:
    """Fields of the settings, keywords of the function and rows of the schema are the same."""
    names = {row.name for row in CHECKED}
    assert names == {field.name for field in dataclasses.fields(CheckSettings)}
    given = inspect.signature(gpudbg.check).parameters
    assert names <= set(given)
    for row in CHECKED:
        assert given[row.name].default == getattr(DEFAULTS, row.name)
        if row.default is not None:
            assert getattr(DEFAULTS, row.name) == row.default


def test_words_of_a_check_are_those_it_knows() -> None:
    """Choices that a table of the checker spells out, too."""
    assert check_option("checks").choices == tuple(CHECKS)
    assert check_option("fail_on").choices == SEVERITIES == get_args(Severity)
    (formats,) = [row for row in OPTIONS if row.name == "format" and "check" in row.verbs]
    assert formats.choices == tuple(FORMATS)


@pytest.mark.parametrize("row", [r for r in CHECKED if r.choices or r.kind is OptionKind.WHOLE])
def test_a_keyword_of_a_check_is_refused_by_its_row(row: OptionSpec) -> None:
    """A word that is no choice, a number below the range."""
    wrong = ("nothing",) if row.kind is OptionKind.WORDS else "nothing"
    given = row.least - 1 if row.kind is OptionKind.WHOLE else wrong
    replaced: Any = dataclasses.replace
    with pytest.raises(UsageError, match=row.name):
        replaced(DEFAULTS, **{row.name: given}).validated()


def test_flags_of_the_compiler_are_its_options() -> None:
    """Every flag is a field of `CompileOptions`."""
    flags = {row.name for row in OPTIONS if row.scope is OptionScope.COMPILER}
    assert flags == {field.name for field in dataclasses.fields(CompileOptions)}
