"""gpudbg decode KIND VALUE...: explain a word without a program."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from gpudbg.errors import EXIT_CLEAN, UsageError


def _sr(words: list[str]) -> Any:
    from gpudbg.reference import decode_special

    return decode_special(words)


def _esr(words: list[str]) -> Any:
    from gpudbg.reference import decode_esr

    return decode_esr(words)


def _xid(words: list[str]) -> Any:
    from gpudbg.reference import stream_xid

    return stream_xid(words)


def _ptx(words: list[str]) -> Any:
    from gpudbg.reference import info_ptx

    return info_ptx(words)


def _insn(words: list[str]) -> Any:
    from gpudbg.reference import decode_insn

    return decode_insn(words)


def _texheader(words: list[str]) -> Any:
    from gpudbg.reference import decode_texheader

    return decode_texheader(words)


def _sampler(words: list[str]) -> Any:
    from gpudbg.reference import decode_texsampler

    return decode_texsampler(words)


def _surface(words: list[str]) -> Any:
    from gpudbg.reference import decode_surface

    return decode_surface(words)


BUILT_IN: dict[str, tuple[Callable[[list[str]], Any], str]] = {
    "insn": (_insn, "WORD... [--arch sm_50] [--pc 0x8]   an instruction word, bit by bit"),
    "sr": (
        _sr,
        "NAME VALUE... [--spa 5.0|5.3|sm_61]   a special register's fields; --arch sm_80: names",
    ),
    "esr": (_esr, "--reg NAME|ADDRESS VALUE... [--family sm_52]   an error or debugger register"),
    "xid": (_xid, "[FILE|-|LINE]   kernel-log lines: Xid 13, ESR, MP trap"),
    "texheader": (_texheader, "HEX... [--layout OLD_V1]   a texture header: 8 words or 64 digits"),
    "sampler": (_sampler, "HEX...   a texture sampler: 8 words or 64 digits"),
    "surface": (_surface, "HEX... --ra X,Y,Z|--at X,Y,Z|--offset N   surface addresses, both ways"),
    "ptx": (_ptx, "NAME... [--arch A]   a PTX special register and what it lowers to"),
}
"""Decoders of gpudbg itself; plugins add theirs."""


def main(argv: list[str]) -> int:
    """Run the verb."""
    words = list(argv)
    if not words or words[0] in ("-h", "--help"):
        print("\n".join(usage()))
        return EXIT_CLEAN if words else UsageError.exit_code
    kind, rest = words[0], words[1:]
    if kind in BUILT_IN:
        return _built_in(kind, rest)
    from gpudbg.frontends.verbs.plugins import load_pending, registry

    paths, rest = _plugin_paths(rest)
    found = registry(tuple(paths))
    if kind not in found.entries["decoders"]:
        load_pending(found)
    if kind not in found.entries["decoders"]:
        import difflib

        known = [*BUILT_IN, *found.entries["decoders"]]
        near = difflib.get_close_matches(kind, known, n=3)
        hint = f"did you mean {', '.join(near)}?" if near else "known: " + ", ".join(known)
        raise UsageError(f"nothing decodes {kind!r}", hint)
    code, text = found.run_decoder(kind, rest)
    print(
        text, file=sys.stdout if code == EXIT_CLEAN or text.startswith(("{", "[")) else sys.stderr
    )
    return code


def _plugin_paths(words: list[str]) -> tuple[list[str], list[str]]:
    paths, rest = [], []
    it = iter(words)
    for word in it:
        if word == "--plugin":
            paths.append(next(it, ""))
        else:
            rest.append(word)
    return paths, rest


def _built_in(kind: str, words: list[str]) -> int:
    call, help_ = BUILT_IN[kind]
    if "-h" in words or "--help" in words:
        print(f"usage: gpudbg decode {kind} [--json] {help_}")
        return EXIT_CLEAN
    as_json = "--json" in words
    found = call([w for w in words if w != "--json"])
    for part in found if isinstance(found, Iterator) else (found,):
        if text := part.render(as_json):
            print(text, flush=True)
    return EXIT_CLEAN


def usage() -> list[str]:
    """The verb's help, plugins' decoders included."""
    from gpudbg.frontends.verbs.plugins import registry

    lines = ["usage: gpudbg decode KIND [--json] VALUE...", ""]
    lines += [f"  {kind:10} {help_}" for kind, (_, help_) in BUILT_IN.items()]
    for name, entry in registry().entries["decoders"].items():
        lines.append(f"  {name:10} {entry.help}  ({entry.plugin})")
    return lines
