"""Rules that suppress findings: lines of our own, compute-sanitizer's XML, baselines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import field
from fnmatch import fnmatchcase
from xml.etree import ElementTree as Xml

from gpudbg.dataclass import dataclass
from gpudbg.errors import LoadError, UsageError
from gpudbg.sanitizer.findings import RULES, CheckFinding
from gpudbg.textlines import read_text

MAX_BYTES = 64 << 20
"""Largest file of suppressions, largest baseline."""

_SANITIZER = {
    "InvalidAddress": "out_of_bounds", "Misaligned": "misaligned", "Race": "race",
    "Hazard": "race", "Leak": "leak", "Uninitialized": "uninitialised", "Barrier": "sync",
    "Sync": "sync", "InvalidFree": "invalid_free", "DoubleFree": "double_free",
}  # fmt: skip
"""Prefix of compute-sanitizer's kinds -> kind of ours."""


@dataclass(slots=True)
class SuppressionRule:
    """`kind[:cause] glob`: the glob is over function, file, or file:line.

    Attributes:
        text: as it was written.
        used: it has matched.
    """

    text: str
    kind: str
    cause: str
    glob: str
    used: bool = False

    def matches(self, finding: CheckFinding) -> bool:
        """Whether it suppresses a finding."""
        if self.kind not in ("*", finding.kind) or self.cause not in ("", finding.cause):
            return False
        for access in finding.accesses or ():
            names = [access.function]
            if access.file is not None:
                short = access.file.rpartition("/")[2]
                names += [access.file, short, f"{access.file}:{access.line}"]
                names.append(f"{short}:{access.line}")
            if any(fnmatchcase(name, self.glob) for name in names):
                return True
        return self.glob == "*"


@dataclass(slots=True)
class Suppressions:
    """Rules and known fingerprints of one check."""

    rules: list[SuppressionRule] = field(default_factory=list)
    known: frozenset[str] = frozenset()

    @classmethod
    def read(cls, given: str | Sequence[str], baseline: str | None) -> Suppressions:
        """Rules from a file's path or as texts, fingerprints from a baseline file.

        Raises:
            UsageError: what does not parse, with file and line.
        """
        made = cls()
        if isinstance(given, str):
            made.rules = _file(given)
        else:
            made.rules = [_rule(text, "suppressions", n) for n, text in enumerate(given, 1)]
        if baseline is not None:
            made.known = _baseline(baseline)
        return made

    def applied(self, findings: Sequence[CheckFinding]) -> tuple[CheckFinding, ...]:
        """The findings, each with the rule that suppresses it."""
        return tuple(self._applied(f) for f in findings)

    def _applied(self, finding: CheckFinding) -> CheckFinding:
        for rule in self.rules:
            if rule.matches(finding):
                rule.used = True
                return finding.suppress(rule.text)
        if finding.fingerprint in self.known:
            return finding.suppress("baseline")
        return finding

    def unused(self) -> tuple[str, ...]:
        """Rules that matched nothing."""
        return tuple(rule.text for rule in self.rules if not rule.used)


def _text(path: str, what: str) -> str:
    try:
        return read_text(path, MAX_BYTES, strict=True)
    except LoadError as error:
        raise UsageError(f"{what}: {error}") from None


def _file(path: str) -> list[SuppressionRule]:
    text = _text(path, "the suppressions")
    if text.lstrip().startswith("<"):
        return _from_xml(path, text)
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        body = line.partition("#")[0].strip()
        if body:
            rows.append(_rule(body, path, number))
    return rows


def _rule(text: str, path: str, number: int) -> SuppressionRule:
    parts = text.partition("#")[0].split()
    if len(parts) != 2:
        raise UsageError(f"{path}:{number}: a rule is `kind[:cause] glob`, not {text[:80]!r}")
    kind, _, cause = parts[0].partition(":")
    if kind != "*" and kind not in RULES:
        raise UsageError(f"{path}:{number}: no kind {kind!r}", f"one of {', '.join(RULES)}, *")
    return SuppressionRule(text, kind, cause, parts[1])


def _from_xml(path: str, text: str) -> list[SuppressionRule]:
    try:
        root = Xml.fromstring(text)
    except Xml.ParseError as error:
        line = error.position[0]
        raise UsageError(f"{path}:{line}: the XML does not parse: {error}") from None
    rows = []
    for number, record in enumerate(root.iter("record"), 1):
        name = record.findtext("kind") or ""
        kind = next((ours for theirs, ours in _SANITIZER.items() if name.startswith(theirs)), "*")
        function = record.findtext(".//where/func") or record.findtext(".//func") or "*"
        rows.append(
            SuppressionRule(f"record {number} of {path}", kind, "", function.partition("(")[0])
        )
    return rows


def _baseline(path: str) -> frozenset[str]:
    text = _text(path, "the baseline")
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise UsageError(f"{path}:{line}: the baseline does not parse: {error}") from None
    if not isinstance(rows, list) or not all(isinstance(row, str) for row in rows):
        raise UsageError(f"{path}:1: a baseline is a JSON list of fingerprints")
    return frozenset(rows)
