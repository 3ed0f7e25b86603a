"""Landlock: Linux keeps a process, and all that it starts, out of files it has no business with.

A process may give up rights without being root.  Compilers that read `#include "/etc/passwd"` are
refused by the kernel itself, whatever the text says.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterable

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1
_NO_NEW_PRIVILEGES = 38

_EXECUTE, _WRITE, _READ, _READ_DIR = 1, 2, 4, 8
_CHANGES = 0x1FF0
"""Removing and making files, folders, links, sockets and devices."""
_TRUNCATE, _REFER = 1 << 14, 1 << 13
READING = _EXECUTE | _READ | _READ_DIR
_OF_FILES = _EXECUTE | _WRITE | _READ | _TRUNCATE
"""Rights that a rule on a file, not a folder, may have."""
_NETWORK = 3
"""Binding and connecting TCP sockets, from version 4 on."""


def version() -> int:
    """Which version the kernel has; 0 where it has none."""
    if not sys.platform.startswith("linux"):
        return 0
    found = _call(_CREATE_RULESET, None, 0, _VERSION_FLAG)
    return max(found, 0)


def confine(readable: Iterable[str], writable: Iterable[str]) -> bool:
    """Keep this process to files below some paths, for good, and off the network; False where the
    kernel cannot.
    """
    have = version()
    if not have:
        return False
    rights = READING | _WRITE | _CHANGES
    rights |= _REFER if have >= 2 else 0
    rights |= _TRUNCATE if have >= 3 else 0
    wanted = struct.pack("=QQ", rights, _NETWORK if have >= 4 else 0)[: 16 if have >= 4 else 8]
    ruleset = _call(_CREATE_RULESET, wanted, len(wanted), 0)
    if ruleset < 0:
        return False
    try:
        for paths, allowed in ((readable, READING), (writable, rights)):
            for path in paths:
                _allow(ruleset, path, allowed)
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
            return False
        return _call(_RESTRICT_SELF, ruleset, 0) == 0
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    """Allow what is done below a path; one that is not there needs no rule."""
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not os.path.isdir(path):
            rights &= _OF_FILES
        rule = struct.pack("=Qi", rights, place)
        _call(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
    finally:
        os.close(place)


def _call(number: int, *arguments: int | bytes | None) -> int:
    """A system call; -1 where it failed."""
    libc = ctypes.CDLL(None, use_errno=True)
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return int(libc.syscall(ctypes.c_long(number), *words))
