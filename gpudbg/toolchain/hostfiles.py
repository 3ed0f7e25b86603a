"""CUDA C++ that its compiler refuses as it is: host code of a program's headers, and headers of
the host that are not there, are left out.

A public program's kernel file includes its own headers (timers, checks, reference results) and
those of libraries that no kernel needs (MPI, OpenGL, cuBLAS).  `Files` holds the program's texts
as the device compiler is to see them, under the names the compiler and the line table use, and
takes out what the compiler complains about as long as it is nothing for the device.  Every line
keeps its number.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field
from functools import partial

from gpudbg.dataclass import dataclass
from gpudbg.textlines import beginning
from gpudbg.toolchain.deduction import FIXED, Deduced
from gpudbg.toolchain.hostcode import HostCode, blanked, device_macros, split
from gpudbg.toolchain.hostproject import header_near

_INCLUDE = re.compile(r'^([ \t]*#[ \t]*include[ \t]*)(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)
_ERROR = re.compile(r"^(.+)\((\d+)\): (?:catastrophic )?error(.*)", re.MULTILINE)
_INSTANCE = re.compile(
    r'Input name expression was: "(.*?)"\s*$|#pragma nv_mangled_name (.*?)\s*$', re.MULTILINE
)
_QUOTED = re.compile(r'"([^"]*)"')
_UNKNOWN = re.compile(r'identifier "([^"]*)" is undefined')
_MISSING = re.compile(
    r'^(.+)\((\d+)\): catastrophic error: cannot open source file "([^"]+)"', re.MULTILINE
)

DEVICE_DEFAULT = "-default-device"
"""NVRTC's word for: a function or variable without a word is for the device."""

SEARCHES = ("all", "quoted")
"""Which headers that no -I names are looked for in the folders of the project.  Those in <> may be
of a library whose headers, as far as the project has them, are worse for device code than none.
"""

_HOST_PARTS = ("/thrust/", "/cub/", "/cuda/std/__cuda/")
"""Paths of C++ libraries that launch kernels from the host."""
_DEVICE_PARTS = {
    "cub/cub.cuh": "".join(
        f"#include <cub/{kind}/{kind}_{name}.cuh>\n"
        for kind, names in (
            ("block", "adjacent_difference discontinuity exchange histogram load merge_sort "
             "radix_rank radix_sort reduce run_length_decode scan shuffle store"),
            ("warp", "exchange load merge_sort reduce scan store"),
        )
        for name in names.split()
    )
}  # fmt: skip
"""What of their headers device code uses; nothing of the others."""

_WORD = re.compile(r"\w+")

_BUILTIN = frozenset("void bool char short int long float double signed unsigned const".split())
"""Names that no declaration brings."""

ROUNDS = 40
MAX_FILES = 1000
MAX_BYTES = 32 << 20

Compile = Callable[[str, Mapping[str, str], Sequence[str]], tuple[bytes | None, str]]
"""(main text, headers by name, template instances) → the cubin or None, and the log."""
CompileInstances = Callable[[str, Sequence[str]], tuple[bytes | None, str]]
"""The same with the headers known."""


@dataclass(slots=True)
class _File:
    """One text: as it is, what is host code in it, and what was taken out."""

    text: str
    host: HostCode
    gone: set[tuple[int, int]] = field(default_factory=set)

    def shown(self) -> str:
        """The text as the compiler is to see it."""
        return blanked(self.text, sorted(self.gone))

    def take_out(self, line: int, extents: Iterable[tuple[int, int]]) -> str:
        """Take out that of `extents` that `line` is in: its text; empty where there was none."""
        start = _offset(self.text, line)
        end = self.text.find("\n", start)
        end = len(self.text) if end < 0 else end
        for extent in extents:
            if extent[0] < end and start < extent[1] and extent not in self.gone:
                self.gone.add(extent)
                return self.text[slice(*extent)]
        return ""


@dataclass(frozen=True, slots=True)
class _Complaint:
    """An error of the compiler."""

    file: str
    line: int
    words: str

    @classmethod
    def of(cls, match: re.Match[str]) -> _Complaint:
        """What `_ERROR` found."""
        return cls(match[1], int(match[2]), match[3])

    def independent(self, names: AbstractSet[str]) -> bool:
        """Whether it is about names, and about none of these."""
        about = {word for name in _QUOTED.findall(self.words) for word in _WORD.findall(name)}
        about -= _BUILTIN
        return bool(about) and not about & names


@dataclass(slots=True)
class Files:
    """A program's own files.

    Attributes:
        name: the main file's.
        folders: where headers are looked for.
        search: one of `SEARCHES`.
        installed: tells headers of the compiler and of libraries, which no project's stand for.
        files: texts by the name under which they are compiled.
        empty: headers that are not there and were taken as empty.
        dropped: (file, line) of declarations taken out.
        near: headers found in the project where no -I looks: as written → path.
    """

    name: str
    folders: Sequence[str]
    search: str = "quoted"
    installed: Callable[[str], bool] = lambda header: False
    files: dict[str, _File] = field(default_factory=dict)
    empty: list[str] = field(default_factory=list)
    dropped: list[tuple[str, int]] = field(default_factory=list)
    near: dict[str, str] = field(default_factory=dict)

    def read(self, text: str) -> None:
        """Take the main text and the headers it includes that lie in `folders`."""
        texts: dict[str, str] = {}
        waiting = [(self.name, text)]
        size = 0
        while waiting and len(texts) < MAX_FILES and size < MAX_BYTES:
            name, body = waiting.pop()
            size += len(body)
            found: dict[str, str] = {}
            texts[name] = _INCLUDE.sub(partial(self._directive, name, found), body)
            for path in found.values():
                if path not in texts and all(path != other for other, _ in waiting):
                    waiting.append((path, _read(path)))
        macros: set[str] = set()
        for body in texts.values():
            macros = device_macros(body, macros)
        for name, body in texts.items():
            host = split(body, macros)
            self.files[name] = _File(body, host)
        main = self.files[self.name]
        main.gone.update(main.host.extents)

    def _directive(self, name: str, found: dict[str, str], match: re.Match[str]) -> str:
        """An `#include` by the name under which its file is compiled."""
        wanted = match[2] or match[3]
        beside = [os.path.dirname(name)] if match[2] and name != self.name else []
        for folder in (*beside, *self.folders):
            path = os.path.normpath(os.path.join(folder, wanted))
            if os.path.isfile(path) and not os.path.samefile(path, self.name_on_disk):
                found[wanted] = path
                return f'{match[1]}"{path}"'
        near = self._near(wanted, quoted=match[2] is not None)
        if near is None:
            return match[0]
        found[wanted] = self.near[wanted] = near
        return f'{match[1]}"{near}"'

    def _near(self, wanted: str, quoted: bool) -> str | None:
        """A header of the project that lies in none of `folders`."""
        if not (quoted or self.search == "all") or "." not in wanted or self.installed(wanted):
            return None
        if not os.path.isfile(self.name):
            return None
        return header_near(os.path.dirname(self.name), wanted)

    @property
    def name_on_disk(self) -> str:
        """The main file, or what stands for it where there is none."""
        return self.name if os.path.isfile(self.name) else os.devnull

    def compile(self, compile_: Compile) -> tuple[bytes | None, str]:
        """Compile, and again without what the compiler refused, while there is anything left."""
        instances: Sequence[str] = self.files[self.name].host.instances
        for _ in range(ROUNDS):
            headers = {name: _DEVICE_PARTS.get(name, "") for name in self.empty}
            headers |= {n: f.shown() for n, f in self.files.items() if n != self.name}
            main = self.files[self.name].shown()
            made, log = compile_(main, headers, instances)
            if made is not None:
                return self._deduced(main, headers, instances, compile_) or (made, log)
            if not self._mend(log):
                if not instances:
                    return None, log
                instances = fewer_instances(instances, log)
        return None, log

    def _deduced(
        self,
        main: str,
        headers: Mapping[str, str],
        instances: Sequence[str],
        compile_: Compile,
    ) -> tuple[bytes, str] | None:
        """As `with_deduced`."""
        host = self.files[self.name].host
        return with_deduced(host, main, instances, lambda text, of: compile_(text, headers, of))

    def _mend(self, log: str) -> bool:
        """Take out what `log` complains about; whether anything could be."""
        missing = _MISSING.search(log)
        if missing and self._without(missing[1], int(missing[2]), missing[3]):
            return True
        inside = (part in match[1] for match in _ERROR.finditer(log) for part in _HOST_PARTS)
        if any(inside) and self._hostless():
            return True
        ours = [e for e in map(_Complaint.of, _ERROR.finditer(log)) if e.file in self.files]
        done = False
        for file, line in dict.fromkeys((e.file, e.line) for e in ours):
            known = self.files[file]
            if known.take_out(line, known.host.extents):
                self.dropped.append((file, line))
                done = True
        return done or self._undeclare(ours)

    def _undeclare(self, complaints: Sequence[_Complaint]) -> bool:
        """Take out declarations that are no functions, whether there were any.

        What complains of a name that a declaration before it may have brought waits: it may
        complain for want of that alone.
        """
        suspected: set[str] = set()
        unknown: set[str] = set()
        done = False
        for complaint in complaints:
            if done and not complaint.independent(suspected - unknown):
                continue
            file = self.files[complaint.file]
            text = file.take_out(complaint.line, file.host.declarations)
            if text:
                self.dropped.append((complaint.file, complaint.line))
                suspected.update(_WORD.findall(text))
                done = True
            unknown.update(_UNKNOWN.findall(complaint.words))
        return done

    def _hostless(self) -> bool:
        """Take Thrust and those parts of CUB that call kernels from the host as empty; whether
        they were not.
        """
        found = (m[2] or m[3] for f in self.files.values() for m in _INCLUDE.finditer(f.text))
        host = ("thrust/", "cub/device/", *_DEVICE_PARTS)
        new = [h for h in dict.fromkeys(found) if h.startswith(host)]
        new = [h for h in new if h not in self.empty]
        self.empty += new
        return bool(new)

    def _without(self, name: str, line: int, header: str) -> bool:
        """A header that is not there is empty, where it is not one of the program's own."""
        file = self.files.get(name)
        written = file.text.splitlines()[line - 1] if file is not None else ""
        if "<" not in written or header in self.empty:
            return False
        self.empty.append(header)
        return True

    def words(self) -> str:
        """What was left out beside the main file's host functions; empty for nothing."""
        out = []
        if self.near:
            places = sorted({os.path.dirname(path) for path in self.near.values()})
            out.append(f"headers found in {', '.join(places)}, which no -I names")
        if self.empty:
            libraries = [h for h in self.empty if h.startswith(("thrust/", "cub/"))]
            missing = [h for h in self.empty if h not in libraries]
            if missing:
                out.append(f"headers not found, taken as empty: {', '.join(missing)}")
            if libraries:
                out.append(f"host parts left out of {', '.join(libraries)}")
        if self.dropped:
            places = [f"{name}:{line}" for name, line in self.dropped]
            more = f" and {len(places) - 6} more" if len(places) > 6 else ""
            out.append(f"declarations left out as host code: {', '.join(places[:6])}{more}")
        return "; ".join(out)


def fewer_instances(instances: Sequence[str], log: str) -> tuple[str, ...]:
    """Those that the compiler did not complain of; none where it complained of none by name."""
    # The compiler writes blanks of its own.
    found = (name for names in _INSTANCE.findall(log) for name in names)
    refused = {"".join(name.split()) for name in found}
    kept = tuple(n for n in instances if "".join(n.split()) not in refused)
    return kept if len(kept) < len(instances) else ()


def with_deduced(
    host: HostCode, text: str, instances: Sequence[str], compile_: CompileInstances
) -> tuple[bytes, str] | None:
    """The cubin with the instances that the compiler deduces, too, and the log; None where there
    is nothing to deduce, or nothing more can be compiled.
    """
    deduced = host.deduced
    if deduced.lambdas:
        parts = (host, text, instances, compile_)
        return _with(deduced, *parts) or _with(deduced.without_lambdas(), *parts)
    return _with(deduced, host, text, instances, compile_)


def _with(
    deduced: Deduced,
    host: HostCode,
    text: str,
    instances: Sequence[str],
    compile_: CompileInstances,
) -> tuple[bytes, str] | None:
    """As `with_deduced`, with what is given of it."""
    asked = tuple(dict.fromkeys((*instances, *host.instances, *deduced.instances)))
    helpers = deduced.helpers.splitlines() if asked else []
    first = text.count("\n") + 1
    while helpers and asked:
        cubin, log = compile_("\n".join((text + helpers[0], *helpers[1:], deduced.lambdas)), asked)
        if cubin is not None:
            return cubin, log
        fewer = fewer_instances(asked, log) or asked
        # A function that names what only host code has is no loss to the others.
        wrong = {int(line) - first for _, line, _ in _ERROR.findall(log)}
        wrong = {n for n in wrong if FIXED <= n < len(helpers) and helpers[n]}
        if fewer == asked and not wrong:
            break
        asked = fewer
        helpers = ["" if n in wrong else line for n, line in enumerate(helpers)]
    return None


def _read(path: str) -> str:
    data = beginning(path, MAX_BYTES)
    return data.decode("utf-8-sig", "replace").replace("\0", " ")


def _offset(text: str, line: int) -> int:
    """Where a line, counted from 1, begins."""
    at = 0
    for _ in range(line - 1):
        at = text.find("\n", at) + 1
        if not at:
            return len(text)
    return at


def folders_of(names: Iterable[str]) -> tuple[str, ...]:
    """Folders without their doubles."""
    return tuple(dict.fromkeys(n or "." for n in names))
