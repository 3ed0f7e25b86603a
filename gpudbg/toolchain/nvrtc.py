"""NVRTC, asked in a process of its own: a text that it dies of must not end the debugger."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Self

from gpudbg.errors import UsageError
from gpudbg.toolchain import nvrtc_process

_DEPRECATED = re.compile(r"^nvrtc: warning ?:.*[Aa]rchitectures? .*deprecated")


class Nvrtc:
    """A process that compiles one text after the other; it begins with the first.

    Attributes:
        library: libnvrtc's path.
    """

    def __init__(self, library: str, always: Sequence[str] = ()) -> None:
        self.library, self.always = library, always
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process, whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def compile(
        self,
        text: str,
        name: str,
        words: Sequence[str],
        headers: Mapping[str, str],
        instances: Sequence[str] = (),
    ) -> tuple[bytes | None, str]:
        """The cubin, or None, and the log.

        Raises:
            UsageError: the library cannot be loaded.
        """
        asked = {
            "text": text,
            "name": name,
            "words": list(words),
            "headers": dict(headers),
            "instances": list(dict.fromkeys((*self.always, *instances))),
        }
        answer, cubin = self._ask(json.dumps(asked).encode() + b"\n")
        if answer is None:
            return None, f"{name}: {self._end()}; the text may be damaged, or beyond the compiler"
        if "error" in answer:
            raise UsageError(f"{self.library} cannot be loaded as NVRTC: {answer['error']}")
        return cubin, said(answer["log"])

    def _ask(self, line: bytes) -> tuple[dict[str, Any] | None, bytes | None]:
        """The answer and its cubin; no answer where the process died."""
        given, taken = self._pipes()
        try:
            given.write(line)
            given.flush()
        except BrokenPipeError:
            pass  # It may have said why before it ended.
        header = taken.readline()
        answer = json.loads(header) if header.endswith(b"\n") else None
        if answer is None or answer.get("size") is None:
            return answer, None
        cubin = taken.read(answer["size"])
        return (answer, cubin) if len(cubin) == answer["size"] else (None, None)

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._process is None:
            words = [sys.executable, "-I", "-S", str(Path(nvrtc_process.__file__)), self.library]
            self._process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        return self._process.stdin, self._process.stdout

    def _end(self) -> str:
        """How the process ended, in words; the next text gets another one."""
        assert self._process is not None
        self._process.communicate()
        code = self._process.returncode
        self._process = None
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        return f"the compiler {self.library} crashed ({how})"


def said(log: str) -> str:
    """The log's text without the line that every build for these architectures begins with."""
    return "\n".join(line for line in log.splitlines() if not _DEPRECATED.search(line)).strip("\n")
